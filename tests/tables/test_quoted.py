"""The quoted figures agree with each other where the paper states them twice."""

from sphunc.tables.quoted import ABLATION, ECE, MAIN, ROBUSTNESS, SIGNIFICANCE, SYSTEMS


def test_statements_of_the_paper_agree() -> None:
    assert ABLATION["default"][1:] == (MAIN["sphunc"]["snare"], ECE["sphunc"]["snare"], MAIN["sphunc"]["pheme"], 0.018)
    for rival, gains in SIGNIFICANCE.items():
        for data, (gain, _) in gains.items():
            assert abs(MAIN["sphunc"][data] - MAIN[rival][data] - gain) < 0.05
    assert ROBUSTNESS["sphunc"][0] == MAIN["sphunc"]["snare"]
    assert set(MAIN) <= set(SYSTEMS)
