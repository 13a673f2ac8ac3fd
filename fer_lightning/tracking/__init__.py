"""Where results go: run folder, Weights & Biases and TensorBoard."""
