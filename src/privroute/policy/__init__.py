"""Routing policies: for every pair, probabilities over paths."""
