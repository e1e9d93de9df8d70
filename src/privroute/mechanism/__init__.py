"""From a history and a guarantee to a release."""
