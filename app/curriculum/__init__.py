"""The Curriculum tab: one module for each of its views, over the engine's curriculum design."""
