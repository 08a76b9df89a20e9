"""The errors of sphunc: one small tree, every leaf of which is also the builtin a caller would expect."""

from __future__ import annotations


class SphuncError(Exception):
    """Root of all errors that sphunc raises on purpose."""


class ArgumentError(SphuncError, ValueError):
    """An argument has a value outside what the function allows."""


class ArgumentTypeError(SphuncError, TypeError):
    """An argument has a type, dtype or device that the function does not take."""


class DataError(SphuncError, ValueError):
    """Data that a user brought is faulty; the message lists every fault with its place and its remedy."""


class CheckpointError(SphuncError, ValueError):
    """A saved model or training state cannot be read, or does not belong to what it is asked to continue."""


class NotFittedError(SphuncError, AttributeError, ValueError):
    """A model was asked for something that it learns in ``fit``."""


class MissingExtraError(SphuncError, ImportError):
    """A feature needs an optional dependency that is not installed."""
