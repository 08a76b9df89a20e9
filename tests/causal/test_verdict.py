import pytest

from sphunc.causal.verdict import verdict

SOUND = {
    "links": 20.0,
    "placebo_links": 1.0,
    "reversed_links": 8.0,
    "fixed_effect_agreement": 0.95,
    "screened_out": 0.01,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "checks passed: 18 links expected above 0.5, probabilities calibrated"),
        ({"placebo_links": 19.0}, "placebo finds as many links as the data: do not trust this graph"),
        ({"placebo_links": 9.0}, "placebo finds nearly half"),
        ({"reversed_links": 30.0}, "reversed time finds more links"),
        ({"fixed_effect_agreement": 0.3}, "links change when each agent's mean is removed"),
        ({"screened_out": 0.3}, "narrow the candidate list"),
        ({"links": 0.1}, "no link stands out"),
    ],
)
def test_gravest_fault_speaks(change, message):
    assert message in verdict(18.0, {**SOUND, **change}, True)


def test_unchecked_says_so():
    assert "not checked" in verdict(3.0, {}, False)
