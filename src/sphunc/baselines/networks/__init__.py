"""Published networks that pass messages between agents; one file, or one folder, per system."""
