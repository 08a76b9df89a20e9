"""Temporal hypergraphs: the data object, its windows and its time-ordered splits."""

from sphunc.hypergraph.assembly import assemble
from sphunc.hypergraph.candidates import comembers
from sphunc.hypergraph.temporal import TemporalHypergraph

__all__ = ["TemporalHypergraph", "assemble", "comembers"]
