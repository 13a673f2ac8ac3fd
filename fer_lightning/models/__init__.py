"""Plain `nn.Module` classifiers that all answer the questions of `VisionModel`."""
