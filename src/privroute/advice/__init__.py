"""What a policy means for the people who follow it: fairness, tolls, gains and losses, compliance. Public."""
