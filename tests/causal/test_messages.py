import torch

from sphunc.causal.messages import procrustes


def test_procrustes_recovers_a_rotation():
    g = torch.Generator().manual_seed(0)
    rotation, _ = torch.linalg.qr(torch.randn(5, 5, generator=g, dtype=torch.double))
    sent = torch.randn(20, 6, 5, generator=g, dtype=torch.double)
    torch.testing.assert_close(procrustes(sent @ rotation.T, sent), rotation)
