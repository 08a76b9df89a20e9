"""Mathematics on the unit sphere."""
