"""Where results go: the run folder and Weights & Biases."""


# --- TensorBoard over run folders: find them, convert those without event files, serve
