"""When to look: what happens around training, epoch by epoch."""
