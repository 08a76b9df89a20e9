import pytest

from sphunc._subsets import evenly_spaced


@pytest.mark.parametrize(("count", "most"), [(0, 3), (1, 3), (3, 3), (4, 3), (1001, 600), (100_000, 4)])
def test_subset_is_even_and_keeps_both_ends(count: int, most: int) -> None:
    kept = evenly_spaced(count, most)
    assert len(kept) == min(count, most)
    if count > 1:
        assert kept[0] == 0
        assert kept[-1] == count - 1
        steps = kept.diff()
        assert steps.min() >= 1
        assert steps.max() - steps.min() <= 1


def test_subset_of_few_is_all_of_them() -> None:
    assert evenly_spaced(3, 5).tolist() == [0, 1, 2]
