"""Unit flows, the system optimum and the equilibrium, and readable twins of the compiled kernels."""
