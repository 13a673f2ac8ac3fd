"""Many runs of one sweep file, with no account: draw, train, stop early, go on, report."""
