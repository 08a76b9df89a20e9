"""Kernels of angular attention: sparse pairs for small groups, dense tiles, blocks for large groups."""
