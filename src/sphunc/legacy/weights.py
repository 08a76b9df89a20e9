"""Weights into a network: parameters must fit exactly, buffers may have been learned at another length."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from sphunc.errors import CheckpointError


def load_weights(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Put saved weights into a network; buffers may have another length than in a fresh one, parameters may not."""
    buffers = {name for name, _ in network.named_buffers()}
    for name, value in weights.items():
        home, _, leaf = name.rpartition(".")
        if name in buffers:
            module = network.get_submodule(home)
            module._buffers[leaf] = value.detach().clone().to(module._buffers[leaf].device)  # pyright: ignore[reportOptionalMemberAccess]
    try:
        network.load_state_dict(dict(weights))
    except RuntimeError as error:
        first = " ".join(str(error).split())[:300]
        raise CheckpointError(f"the saved weights do not fit the saved configuration: {first}") from None
