"""Measuring retrieval: judgments, runs, measures, statistics, reports."""
