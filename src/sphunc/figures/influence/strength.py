"""Strength of an intervention against the entropy of outcomes, H_causal (eq. causal_uncertainty of the paper)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from sphunc._typing import Float
from sphunc.figures.style import colour_of, line_of, marker_of

Strength = tuple[Sequence[float], Float[np.ndarray, " angle"]]


def draw_strength(axes: Axes, targets: Mapping[str, Strength]) -> str:
    """Draw H_causal of every target against the angle by which one agent is turned; return the alternative text.

    Args:
        axes: to draw on.
        targets: by name the angles in radians and H_causal in nats.
    """
    words = []
    for k, (name, (angles, entropy)) in enumerate(targets.items()):
        axes.plot(angles, entropy, color=colour_of(k), linestyle=line_of(k), marker=marker_of(k), label=name)
        words.append(f"{name} from {entropy[0]:.3f} to {entropy[-1]:.3f} nats")
    axes.set(xlabel="turned by (radians)", ylabel=r"$\mathcal{H}_{causal}$ (nats)")
    axes.legend(loc="best", title="target")
    return f"Interventional entropy against the strength of the intervention: {'; '.join(words)}."
