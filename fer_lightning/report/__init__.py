"""One report of many runs: what it says, and how it is written."""
