"""Posterior over the parent sets of every agent: enumeration, priors, links."""
