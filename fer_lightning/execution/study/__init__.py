"""Many runs as one experiment: plan, execute, collect, test statistically, report."""
