"""Template tags of the Inspector."""
