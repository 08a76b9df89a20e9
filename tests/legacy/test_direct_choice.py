"""What is plainly seen counts where it tells the outcomes of others, under its prior, and nowhere else."""

import pytest
import torch

from sphunc.legacy.direct_choice import DEVIATIONS, Block, Choice, Seen, Start, choose_parts, find_start, is_certain

AGENTS, CLASSES = 60, 3
NOW, NOISE = Block("now", 0, CLASSES), Block("noise", CLASSES, 2 * CLASSES)
SHARED = Block("shared", 2 * CLASSES, 3 * CLASSES, is_shared=True, by_time=True)


def rows(rule, seed=0, times=8):
    generator = torch.Generator().manual_seed(seed)
    last = torch.randint(CLASSES, (times, AGENTS), generator=generator)
    told = torch.nn.functional.one_hot(last, CLASSES).float()
    noise = torch.randn(times, AGENTS, CLASSES, generator=generator)
    level = torch.randn(times, 1, CLASSES, generator=generator).expand(-1, AGENTS, -1)
    truth = rule(last, level, generator)
    agent = torch.arange(AGENTS).expand(times, -1)
    origin = torch.arange(times).unsqueeze(1).expand(-1, AGENTS)
    phi = torch.cat([told, noise, level], -1)
    return Seen(phi.flatten(0, 1), agent.flatten(), origin.flatten()), truth.flatten()


def turn(last, level, generator):
    return (last + 1) % CLASSES


def stay(last, level, generator):
    return last


def toss(last, level, generator):
    return torch.randint(CLASSES, last.shape, generator=generator)


def drift(last, level, generator):
    p = torch.softmax(3.0 * level, -1).expand(*last.shape, CLASSES)
    return torch.multinomial(p.flatten(0, 1), 1, generator=generator).view(last.shape)


def shock(last, level, generator):
    p = torch.softmax(2.0 * torch.randn(len(last), 1, CLASSES, generator=generator), -1).expand(*last.shape, CLASSES)
    return torch.multinomial(p.flatten(0, 1), 1, generator=generator).view(last.shape)


def start_of(truth, known=None):
    """Free are a factor of what is known, and how frequent classes are."""
    z = torch.zeros(len(truth), CLASSES, dtype=torch.float64) if known is None else known.double()

    def score(free, added, chosen):
        return (
            torch.log_softmax(free[0] * z[chosen] + free[1:] + added, -1)
            .gather(1, truth[chosen].unsqueeze(1))
            .squeeze(1)
        )

    centre = torch.tensor([1.0] + [0.0] * CLASSES, dtype=torch.float64)
    return Start(centre, torch.ones_like(centre), score)


def names(choice):
    return [block.name for block in choice.blocks]


@pytest.mark.parametrize(
    ("rule", "found"), [(turn, ["now"]), (stay, ["now"]), (drift, ["shared"]), (toss, []), (shock, [])]
)
@pytest.mark.parametrize("seed", range(3))
def test_what_holds_is_found_and_nothing_else(rule, found, seed):
    seen, truth = rows(rule, seed)
    assert names(choose_parts(start_of(truth), seen, [NOW, NOISE, SHARED], CLASSES)) == found


def test_what_is_known_already_does_not_count():
    seen, truth = rows(turn)
    known = 6.0 * torch.nn.functional.one_hot(truth, CLASSES)
    assert not choose_parts(start_of(truth, known), seen, [NOW], CLASSES).blocks


def test_what_was_thought_known_gives_way():
    seen, truth = rows(turn)
    wrong = 2.0 * seen.phi[:, :CLASSES]  # everybody is expected to stay
    start = start_of(truth, wrong)
    choice = choose_parts(start, seen, [NOW], CLASSES)
    free, B = find_start(start, seen.phi, choice, CLASSES, torch.arange(len(truth)))
    assert (free[0] * wrong + free[1:] + seen.phi.double() @ B).argmax(1).equal(truth)


def test_one_agent_or_one_time_says_nothing_about_others():
    seen, truth = rows(turn)
    one = (seen.agent == 0).nonzero().squeeze(1)
    alone = Seen(seen.phi[one], seen.agent[one], seen.origin[one])
    assert not choose_parts(start_of(truth[one]), alone, [NOW], CLASSES).blocks
    seen, truth = rows(drift, times=3)
    assert not choose_parts(start_of(truth), seen, [SHARED], CLASSES).blocks


def test_nothing_is_found_from_nothing():
    nobody = torch.zeros(0, dtype=torch.long)
    seen = Seen(torch.zeros(0, 3 * CLASSES), nobody, nobody)
    assert not choose_parts(start_of(nobody), seen, [NOW, NOISE, SHARED], CLASSES).blocks


def test_a_start_is_the_likeliest_under_its_prior():
    seen, truth = rows(turn, times=3)
    choice = Choice((NOW, SHARED), {"now": DEVIATIONS[0], "shared": DEVIATIONS[1]})
    start = start_of(truth, known=seen.phi[:, CLASSES : 2 * CLASSES])
    free, B = find_start(start, seen.phi, choice, CLASSES, torch.arange(len(truth)))
    shared = B[SHARED.start, 0]
    torch.testing.assert_close(B[SHARED.start : SHARED.stop], shared * torch.eye(CLASSES, dtype=torch.float64))
    assert not B[NOISE.start : NOISE.stop].any()
    point = torch.cat([free, B[: NOW.stop].flatten(), shared.unsqueeze(0)]).requires_grad_()
    base, table, factor = point.split([1 + CLASSES, CLASSES * CLASSES, 1])
    added = seen.phi[:, :CLASSES].double() @ table.view(CLASSES, CLASSES)
    added = added + factor * seen.phi[:, SHARED.start :].double()
    prior = (base - start.centre).square().sum() + (table / DEVIATIONS[0]).square().sum()
    prior = prior + (factor / DEVIATIONS[1]).square().sum()
    (start.score(base, added, torch.arange(len(truth))).sum() - prior / 2).backward()
    assert point.grad is not None
    assert float(point.grad.abs().max()) < 1e-3 * len(truth)


def test_a_gain_of_few_units_is_not_certain():
    unit = torch.arange(400) // 100
    assert is_certain(torch.full((400,), 0.1), unit)
    assert not is_certain(torch.full((400,), 0.01), unit)
    assert not is_certain(torch.where(unit == 0, 0.4, 0.0), unit)
