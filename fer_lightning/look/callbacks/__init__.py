"""Callbacks that look at the model at the end of an epoch and change nothing."""
