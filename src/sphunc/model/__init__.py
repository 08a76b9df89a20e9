"""The model: covariates, base regression, states and their dynamics, beliefs, outcome, uncertainty."""
