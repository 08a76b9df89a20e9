"""The result as a value: target and path, ranking, frames, printing, faults."""

from inspect import unwrap

import numpy as np
import pytest
import torch

from sphunc.errors import ArgumentError, ArgumentTypeError
from sphunc.interventions import Do, Effect, Plan

H, N = 2, 4


def effect(classes=("calm", "upset"), **changes):
    C = len(classes) or 1
    g = torch.Generator().manual_seed(0)
    before = torch.softmax(torch.randn(H, N, C, generator=g), -1)
    after = before.clone()
    after[-1, 2] = torch.tensor([0.1, 0.9])[:C]
    after[-1, 0] = torch.tensor([1.0, 0.0])[:C]
    row = torch.rand(H, N, generator=g)
    difference = (after - before)[-1]
    values = {
        "plan": Plan((Do("a", toward="calm"),)),
        "agents": ("a", "b", "c", "d"),
        "intervened": torch.tensor([True, False, False, False]),
        "origin": 3,
        "times": (4, 5),
        "class_names": classes,
        "outcomes": after,
        "factual_outcomes": before,
        "monte_carlo_errors": torch.full((H, N, C), 0.01),
        "posterior_deviations": torch.full((H, N, C), 0.02),
        "interval": torch.stack([difference - 0.03, difference + 0.04], -1),
        "variances": torch.ones(H, N, 0 if classes else C),
        "entropies": row,
        "withins": row - 0.1,
        "identifications": torch.full((H, N), 0.1),
        "entropy_errors": torch.zeros(H, N),
        "confidence": torch.full((N,), 0.5),
        "samples": torch.zeros(6, N, C),
        "structure_id": torch.arange(6),
    }
    return Effect(**{**values, **changes})


def test_plain_names_are_those_of_the_target() -> None:
    e = effect()
    assert torch.equal(e.probabilities, e.outcomes[-1])
    assert torch.equal(e.factual, e.factual_outcomes[-1])
    assert torch.equal(e.entropy, e.entropies[-1])
    assert torch.equal(e.within, e.withins[-1])
    assert torch.equal(e.identification, e.identifications[-1])
    assert torch.equal(e.standard_error, e.entropy_errors[-1])
    assert torch.equal(e.monte_carlo_error, e.monte_carlo_errors[-1])
    assert torch.equal(e.posterior_deviation, e.posterior_deviations[-1])
    assert torch.allclose(e.size, 0.5 * e.difference.abs().sum(-1))
    assert e.horizon == H
    assert e.of("c") == pytest.approx({"calm": 0.1, "upset": 0.9})
    assert "Granger" in e.assumptions


def test_top_affected_leaves_the_intervened_out() -> None:
    top = effect().top_affected(2)
    assert top["agent"][0] == "c"
    assert "a" not in effect().top_affected(10)["agent"].to_list()
    assert len(effect().top_affected(10)) == 3
    with pytest.raises(ArgumentError, match="count=0 must be at least 1"):
        effect().top_affected(0)


def test_top_affected_gives_errors_and_interval_of_what_changes_most() -> None:
    first = effect().top_affected(1).row(0, named=True)
    change = first["to"] - first["from"]
    assert abs(change) == pytest.approx(float(effect().difference[2].abs().max()))
    assert first["low"] == pytest.approx(change - 0.03)
    assert first["high"] == pytest.approx(change + 0.04)
    assert first["error"] == pytest.approx(0.01)


def test_counts_are_whole_numbers_of_any_kind() -> None:
    assert len(effect().top_affected(np.int64(2))) == 2
    with pytest.raises(ArgumentTypeError, match="count=True must be a whole number, got bool"):
        effect().top_affected(True)


def test_frame_has_a_row_per_step_and_agent() -> None:
    frame = effect().to_frame()
    assert frame.shape[0] == H * N
    assert frame["time"].to_list() == [4] * N + [5] * N
    for column in ("p(calm)", "p(calm) factual", "effect", "entropy", "within", "identification", "confidence"):
        assert column in frame.columns
    assert frame["p(calm) low"].null_count() == N
    assert frame["p(calm) high"][-1] == pytest.approx(float(effect().interval[-1, 0, 1]))
    assert frame["p(calm) error"].to_list() == pytest.approx([0.01] * H * N)
    assert frame["effect"][N:].to_list() == pytest.approx(effect().size.tolist())


def test_print() -> None:
    assert repr(effect()).startswith("Effect(Do(agent='a'")
    assert "3 -> 5" in repr(effect())
    assert repr(effect(coupling="named")).startswith("Counterfactual(")
    assert repr(effect(message="nothing to act through")).endswith("; nothing to act through)")
    nothing = torch.full((H, N), -1e-9)
    assert "mean entropy 0.000 nats of which identification 0.000" in repr(
        effect(entropies=nothing, identifications=-0.0 * nothing)
    )
    everyone = torch.ones(N, dtype=torch.bool)
    assert "largest effect on others none" in repr(effect(intervened=everyone, plan=Plan()))
    assert "no intervention" in repr(effect(plan=Plan()))


def test_several_numbers_are_called_by_their_names() -> None:
    e = effect(class_names=(), outcome_names=("joy", "fear"))
    assert e.labels == ("joy", "fear")
    assert "mean_fear" in e.to_frame().columns
    assert set(e.of("a")) == {"mean_joy", "mean_fear"}
    assert set(e.top_affected()["most_changed"]) <= {"joy", "fear"}
    one = effect((), outcome_names=("joy",))
    assert one.of("a").keys() == {"mean_joy"}
    assert {"mean_joy", "mean_joy factual"} <= set(one.to_frame().columns)
    assert "most_changed" not in one.top_affected().columns


def test_numbers() -> None:
    e = effect(())
    assert torch.equal(e.mean, e.outcomes[-1])
    assert torch.equal(e.variance, e.variances[-1])
    assert {"mean", "mean factual"} <= set(e.to_frame().columns)
    assert e.of("a").keys() == {"mean"}
    assert "most_changed" not in e.top_affected().columns


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda: effect(()).probabilities, "numbers, which have no probabilities; read mean and variance"),
        (lambda: effect().mean, "classes, which have no mean; read probabilities"),
        (lambda: effect().variance, "classes, which have no variance; read probabilities"),
        (lambda: effect().of("z"), "agent 'z' is not among the 4 agents"),
        (lambda: unwrap(Effect.index)(effect(), np.array(["a", "b"])), r"agent array\(.* is not among the 4 agents"),
    ],
)
def test_what_is_not_there_is_named(read, words) -> None:
    with pytest.raises(ArgumentError, match=words):
        read()


def test_the_size_of_an_effect_on_numbers_is_in_their_unit() -> None:
    plain = effect(classes=())
    small = effect(classes=(), outcomes=1e-30 * plain.outcomes, factual_outcomes=1e-30 * plain.factual_outcomes)
    assert (plain.size > 0).any()
    torch.testing.assert_close(small.size, 1e-30 * plain.size, atol=0.0, rtol=1e-5)
    scaled = [1e-30 * size for size in plain.to_frame()["effect"]]
    assert small.to_frame()["effect"].to_list() == pytest.approx(scaled, rel=1e-5, abs=0.0)


def test_agents_of_mixed_types_stay_apart_in_frames() -> None:
    mixed = effect(agents=(1, "1", 2.5, ("x", 1)))
    assert mixed.to_frame()["agent"].to_list() == ["1", "'1'", "2.5", "('x', 1)"] * H
    assert sorted(mixed.top_affected()["agent"]) == ["'1'", "('x', 1)", "2.5"]
    assert effect().of(np.str_("a")) == effect().of("a")
