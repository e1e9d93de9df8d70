"""The private side's input: daily counts of trips. The only folder that sees trips."""
