"""Public demands: the gravity model, and nonnegative demands made of noisy counts. Nothing here sees trips."""
