import torch

from sphunc.causal.candidates import all_pairs, candidate_links
from sphunc.causal.inputs import describe_agents


def test_sound_agents_need_no_note(latents):
    present = torch.ones(latents.shape[:2], dtype=torch.bool)
    silent, notes = describe_agents(latents, present, candidate_links(all_pairs(6), 6))
    assert not bool(silent.any())
    assert notes == ()


def test_rarely_seen_agents_are_named(latents):
    present = torch.ones(latents.shape[:2], dtype=torch.bool)
    present[2:, 3] = False
    _, notes = describe_agents(latents, present, candidate_links(all_pairs(6), 6))
    assert "1 agents are seen at too few consecutive times" in notes[0]
