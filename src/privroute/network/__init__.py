"""The public side's ground: networks, latency functions, pairs and demands, and the files they come from."""
