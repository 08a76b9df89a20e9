"""Results of an experiment as a benchmark leaves them, made up."""

import json

import polars as pl
import pytest


def cell(label: str, data: str, seed: int, value: float, variant: str = "default", lost: float = 0.0) -> dict:
    return {
        "label": label,
        "model": label,
        "data": data,
        "variant": variant,
        "seed": seed,
        "source": json.dumps({"world": "snare", "knobs": {"lost_at_test": lost}}),
        "macro_f1": value,
        "macro_auc": value,
        "accuracy": value,
        "nll": 1.0 - value,
        "ece": 0.1 * (1.0 - value),
        "ece_floor": 0.02,
        "ece_calibrated": True,
        "p_at_10": value if label != "boosting" else None,
        "auprc": value if label != "boosting" else None,
        "rows_train": 900,
        "rows_test": 100,
    }


@pytest.fixture
def results() -> pl.DataFrame:
    values = {"sphunc": 0.8, "causal_sphhn": 0.7, "cignn": 0.6, "spherenet": 0.5, "boosting": 0.75, "oracle": 0.9}
    rows = [
        cell(label, data, seed, value + 0.01 * seed + 0.002 * seed * len(label))
        for data in ("snare", "pheme", "amigos")
        for label, value in values.items()
        for seed in (0, 1, 2)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
