"""TensorBoard over run folders: find them, convert those without event files, serve."""
