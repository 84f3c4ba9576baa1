"""From text to vectors to an index on disk."""
