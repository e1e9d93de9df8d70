"""privroute."""
