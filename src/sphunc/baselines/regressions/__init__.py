"""What a practitioner would run: regression, boosting and a perceptron on a table of covariates."""
