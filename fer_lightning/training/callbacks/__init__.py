"""Callbacks that a training needs: early stopping, recording, progress."""
