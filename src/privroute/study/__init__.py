"""What is public and chosen before any trip is read."""
