"""Files on disk become uint8 arrays in memory, splits, and batches."""
