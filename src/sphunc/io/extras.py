"""Optional libraries: loaded when asked for, named with their extra when they are missing."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from sphunc.errors import MissingExtraError


def load_extra(module: str, extra: str) -> Any:
    """Import an optional library, or say which extra brings it.

    Args:
        module: its name, maybe with a submodule.
        extra: the extra of sphunc that installs it.
    """
    try:
        with warnings.catch_warnings():
            # Deprecations inside the library are not for our users to mend.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        message = f'{package} is not installed; get it with: pip install "sphunc[{extra}]"'
        raise MissingExtraError(message) from error
