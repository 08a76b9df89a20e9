"""Checks of an influence graph: decoys, placebo, reversed time, stability, parametric bootstrap."""
