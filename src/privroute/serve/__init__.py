"""What shows a release to others. It stands on the public side: it cannot reach trips, noise or mechanisms."""
