"""Tables of the demonstration say what the values say."""

import polars as pl
import torch
from rich.console import Console
from rich.table import Table

from sphunc.cli import demo_tables as tables
from sphunc.forecasting.forecast import Forecast


def printed(table: Table, width: int = 120) -> str:
    console = Console(record=True, width=width)
    console.print(table)
    return console.export_text()


def test_forecast_rows_are_those_asked_for() -> None:
    forecast = Forecast(
        agents=("ann", "bob", "cem"),
        origin=3,
        target=4,
        horizon=1,
        epistemic=torch.tensor([-150.0, -140.0, -130.0]),
        epistemic_scaled=torch.tensor([0.2, 0.5, 0.9]),
        aleatoric=torch.tensor([0.11, 0.22, 0.33]),
        total=torch.tensor([0.15, 0.45, 0.75]),
        class_names=("calm", "loud"),
        probabilities=torch.tensor([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5]]),
        kappa=torch.tensor([9.0, 5.0, 1.0]),
        scores=torch.zeros(0),
        held_out="origins",
        coverage=0.9,
    )
    lines = printed(tables.forecast_table(forecast, [2, 1], ["calm", "calm", "loud"])).splitlines()
    rows = [line.split() for line in lines if line.startswith(" ") and ("bob" in line or "cem" in line)]
    assert rows == [
        ["cem", "calm", "loud", "0.50", "-130.0", "0.90", "0.33", "0.75", "calm,", "loud"],
        ["bob", "loud", "calm", "0.70", "-140.0", "0.50", "0.22", "0.45", "calm,", "loud"],
    ]
    assert "ann" not in "".join(lines)
    narrow = printed(tables.forecast_table(forecast, [2, 1], ["calm", "calm", "loud"]), width=80)
    assert "…" not in narrow


def test_scores_and_entropies_are_rounded_not_changed() -> None:
    assert "0.812       0.534" in printed(tables.score_table([("ours", 0.8123, 0.5344)], 10))
    assert "50        -135.145" in printed(tables.sphere_table([(50.0, -135.1452, 0.34, 0.35)], 128, 20_000))


def test_a_comparison_shows_what_each_model_gains() -> None:
    rows = {"model": ["persistence", "covariates"], "nll": [0.91, 0.7123], "gain": [0.0, 0.1977], "error": [0.0, 0.02]}
    lines = printed(tables.comparison_table(pl.DataFrame(rows))).splitlines()
    assert [line.split() for line in lines if "persistence" in line] == [["persistence", "0.910"]]
    assert [line.split() for line in lines if "covariates" in line] == [["covariates", "0.712", "+0.198", "0.020"]]


def test_entropies_that_are_nothing_have_no_sign() -> None:
    assert "-0.000" not in printed(tables.sphere_table([(50.0, -1e-9, 0.34, 0.35)], 128, 20_000))


def test_paragraphs_keep_brackets() -> None:
    console = Console(record=True, width=80)
    tables.paragraph(console, "scaled to [0, 1], [red]as it is")
    assert console.export_text() == "scaled to [0, 1], [red]as it is\n"
