"""Layers of the model: pure functions on tensors, and thin modules that own their parameters."""
