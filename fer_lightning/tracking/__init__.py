"""Where results go: the run folder and Weights & Biases."""
