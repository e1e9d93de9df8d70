"""How good a policy is, and whether its guarantee holds."""
