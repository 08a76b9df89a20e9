"""Who influences whom: the structure posterior, influence graphs, and their checks."""
