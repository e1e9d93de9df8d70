"""Unit flows, their projection, the system optimum and the equilibrium."""
