"""Optional libraries: loaded when asked for, named with their extra when they are missing."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from sphunc.errors import MissingExtraError


def load_extra(module: str, extra: str) -> Any:
    """Import ``module``, or say which extra brings it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of the library's own imports: not for our users to mend
            return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(f'{package} is not installed; get it with: pip install "sphunc[{extra}]"') from error
