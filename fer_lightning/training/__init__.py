"""How a model is trained: the LightningModule, its optimizer and its checkpoints."""
