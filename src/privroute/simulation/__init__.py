"""Traffic simulators as independent judges of a policy: vehicles drawn from a public demand follow it. Public."""
