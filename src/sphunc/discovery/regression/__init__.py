"""Regressions of every agent on its own past and on others': panel, columns, variance components."""
