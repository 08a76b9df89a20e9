"""Shape vocabulary: one name per axis and one alias per kind of tensor.

The shapes are checked under pytest (jaxtyping with beartype) and are plain documentation everywhere else.

===========  ==========================================================
axis         meaning
===========  ==========================================================
``time``     observed times, T
``agent``    agents (nodes), N
``feature``  features per agent, F
``edge``     hyperedges (groups), M
``nnz``      memberships (rows of the groups table)
``link``     directed influence links, K
``dim``      latent dimension, D
``class``    outcome classes, C
``sample``   Monte Carlo samples, S
===========  ==========================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsIndex

from torch import Tensor

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int
else:
    try:
        from jaxtyping import Bool, Float, Int
    except ImportError:  # a development dependency: users do without the checks

        class _Unchecked:
            def __class_getitem__(cls, item: tuple[Any, str]) -> Any:
                return item[0]

        Bool = Float = Int = _Unchecked

Directions = Float[Tensor, "agent dim"]
Features = Float[Tensor, "time agent feature"]
Memberships = Int[Tensor, "2 nnz"]
Links = Int[Tensor, "2 link"]
Whole = SupportsIndex
"""A whole number of Python or numpy; functions that take one check it, and return or keep an int."""

__all__ = ["Bool", "Directions", "Features", "Float", "Int", "Links", "Memberships", "Tensor", "Whole"]
