"""What is published: a policy, the demand it was made for where the mechanism releases one, and a certificate."""
