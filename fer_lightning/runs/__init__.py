"""What a run folder holds: its files, found, read and collected; imports no torch."""
