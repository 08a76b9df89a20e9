"""Experiment matrices: a declarative file, cells that are measured once, a store that survives a kill, a summary."""
