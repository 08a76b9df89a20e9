"""What :class:`sphunc.nn.conv.AngularHypergraphConv` takes, and what it says of anything else.

A check costs a look at shapes and types, or one pass over the memberships or the weights; features are not read.
"""

from __future__ import annotations

import torch

from sphunc._checks import whole_number
from sphunc._typing import Tensor
from sphunc.errors import ArgumentError, ArgumentTypeError

HALF = frozenset({torch.float16, torch.bfloat16})
FLOATING = HALF | {torch.float32, torch.float64}
WHOLE = frozenset({torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8})


def check_features(x: object, in_dim: int, projection: Tensor) -> Tensor:
    """Take features of the type and on the device of the layer's weights.

    Args:
        x: features ``[N, in_dim]``.
        in_dim: F, features that the layer takes.
        projection: weights of the layer.
    """
    features = _tensor("x", x)
    if features.dtype not in FLOATING:
        raise ArgumentTypeError(f"x has dtype {features.dtype}; give floating-point features, e.g. x.float()")
    if features.ndim != 2:
        one = ""
        if features.ndim == 1:
            one = "; a single node is x.unsqueeze(0)"
        raise ArgumentError(f"x has shape {tuple(features.shape)}; give [N, {in_dim}], one row per node{one}")
    if features.shape[1] != in_dim:
        raise ArgumentError(
            f"x has {features.shape[1]} features, but the layer was made with in_dim={in_dim}; "
            f"give [N, {in_dim}], or make the layer with in_dim={features.shape[1]}"
        )
    if features.device != projection.device:
        raise ArgumentTypeError(
            f"x is on {features.device}, the layer on {projection.device}; move one with .to(device)"
        )
    _check_precision(features, projection)
    return features


def _check_precision(x: Tensor, projection: Tensor) -> None:
    if x.dtype == projection.dtype:
        return
    double = torch.float64 in (x.dtype, projection.dtype)
    if not double and torch.is_autocast_enabled(x.device.type):
        return  # which brings both to one type
    raise ArgumentTypeError(
        f"x has dtype {x.dtype}, but the layer has {projection.dtype}; "
        f"convert x with {_conversion('x', projection.dtype)} or the layer with {_conversion('layer', x.dtype)}"
    )


def _conversion(name: str, dtype: torch.dtype) -> str:
    method = {torch.float16: "half", torch.bfloat16: "bfloat16", torch.float32: "float", torch.float64: "double"}
    return f"{name}.{method[dtype]}()"


def check_memberships(hyperedge_index: object, x: Tensor) -> Tensor:
    """Take whole numbers on the device of ``x``; :func:`count_edges` looks at their values.

    Args:
        hyperedge_index: memberships ``[2, nnz]``, row 0 node, row 1 hyperedge.
        x: features ``[N, in_dim]``.
    """
    index = _tensor("hyperedge_index", hyperedge_index)
    rows = "row 0 the node, row 1 the hyperedge"
    if index.dtype not in WHOLE:
        raise ArgumentTypeError(
            f"hyperedge_index has dtype {index.dtype}; indices are whole numbers, e.g. hyperedge_index.long()"
        )
    if index.ndim != 2:
        raise ArgumentError(f"hyperedge_index has shape {tuple(index.shape)}; give memberships [2, nnz], {rows}")
    if index.shape[0] != 2:
        turned = ""
        if index.shape[1] == 2:
            turned = "; turn it with hyperedge_index.T"
        raise ArgumentError(f"hyperedge_index has {index.shape[0]} rows; it takes 2, {rows}{turned}")
    _check_device("hyperedge_index", index, x)
    return index


def check_weights(hyperedge_weight: object, x: Tensor) -> Tensor:
    """Take finite numbers, 0 or more, on the device of ``x``.

    Args:
        hyperedge_weight: weight of each hyperedge ``[M]``.
        x: features ``[N, in_dim]``.
    """
    weight = _tensor("hyperedge_weight", hyperedge_weight)
    if weight.dtype not in FLOATING:
        raise ArgumentTypeError(
            f"hyperedge_weight has dtype {weight.dtype}; give floating-point weights, e.g. hyperedge_weight.float()"
        )
    if weight.ndim != 1:
        raise ArgumentError(
            f"hyperedge_weight has shape {tuple(weight.shape)}; give one number per hyperedge [M], "
            "e.g. hyperedge_weight.flatten()"
        )
    _check_device("hyperedge_weight", weight, x)
    faulty = ~((weight >= 0) & (weight < torch.inf))
    if bool(faulty.any()):
        first = int(faulty.nonzero()[0])
        raise ArgumentError(
            f"hyperedge_weight[{first}] is {float(weight[first]):g}; weights of a mean are finite and 0 or more: "
            "a hyperedge that shall not count has weight 0"
        )
    return weight


def refuse_attributes(hyperedge_attr: object) -> None:
    """Take no features of hyperedges."""
    if hyperedge_attr is not None:
        raise ArgumentError(
            f"hyperedge_attr is a {type(hyperedge_attr).__name__}; leave it None: members attend to each other by the "
            "angle between them, not to features of their hyperedge (how much one counts is hyperedge_weight)"
        )


def count_edges(hyperedge_index: Tensor, weight: Tensor | None, num_edges: object, num_nodes: int) -> int:
    """Number of hyperedges M: as stated, else one per weight, else as many as the memberships name.

    Refuses memberships of nodes or hyperedges that are not there.

    Args:
        hyperedge_index: memberships ``[2, nnz]``.
        weight: weight of each hyperedge ``[M]``, or None.
        num_edges: M, or None to count them.
        num_nodes: N.
    """
    stated = None
    if num_edges is not None:
        stated = whole_number("num_edges", num_edges, least=0)
    if weight is not None and stated not in (None, len(weight)):
        raise ArgumentError(
            f"hyperedge_weight has {len(weight)} entries, but num_edges is {stated}; give one weight per hyperedge"
        )
    last_node, last_edge = _last_of(hyperedge_index)
    if last_node >= num_nodes:
        raise ArgumentError(
            f"hyperedge_index[0] holds {last_node}, but x has {num_nodes} rows; nodes are numbered from 0, one per row"
        )
    if stated is not None:
        count = stated
        source = f"num_edges is {stated}"
    elif weight is not None:
        count = len(weight)
        source = f"hyperedge_weight has {count} entries"
    else:
        return last_edge + 1
    if last_edge >= count:
        raise ArgumentError(
            f"hyperedge_index[1] holds {last_edge}, but {source}; hyperedges are numbered from 0, "
            f"so that makes {last_edge + 1} or more"
        )
    return count


def _last_of(hyperedge_index: Tensor) -> tuple[int, int]:
    """Largest node and largest hyperedge, -1 where there are none; refuses negative ones."""
    if not hyperedge_index.numel():
        return -1, -1
    lows, highs = (end.tolist() for end in hyperedge_index.aminmax(dim=1))
    for row, low in enumerate(lows):
        if low < 0:
            raise ArgumentError(
                f"hyperedge_index[{row}] holds {low}; nodes and hyperedges are numbered from 0, "
                "so drop memberships that stand for nothing"
            )
    return highs[0], highs[1]


def _tensor(name: str, value: object) -> Tensor:
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            f"{name} is a {type(value).__name__}; give a torch tensor, e.g. torch.as_tensor({name})"
        )
    if value.layout != torch.strided:
        raise ArgumentTypeError(f"{name} has layout {value.layout}; give a dense tensor, e.g. {name}.to_dense()")
    return value


def _check_device(name: str, value: Tensor, x: Tensor) -> None:
    if value.device != x.device:
        raise ArgumentTypeError(f"x is on {x.device}, {name} on {value.device}; move one with .to(device)")
