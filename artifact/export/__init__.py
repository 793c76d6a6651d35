"""One file per method: the engine's own source, joined to a PyTorch program that runs alone."""
