"""How sure is a belief? Entropy of von Mises-Fisher laws, samples with gradients, and a fit.

Run: python examples/sphere.py
"""

import torch

import sphunc
from sphunc.sphere import vmf_kl

DIM = 128
generator = torch.Generator().manual_seed(0)
mu = torch.nn.functional.normalize(torch.randn(DIM, generator=generator, dtype=torch.float64), dim=0)

for kappa in (1.0, 50.0, 200.0):
    print(f"kappa {kappa:5.0f}: entropy {sphunc.vmf_entropy(kappa, dim=DIM).item():9.3f} nats")

kappa = torch.tensor(50.0, dtype=torch.float64, requires_grad=True)
law = sphunc.VonMisesFisher(mu, kappa)
samples = law.rsample((10_000,), generator=generator)
samples.mv(mu).mean().backward()
print(f"mean resultant length {law.mean.norm().item():.4f}; its slope in kappa, from samples {kappa.grad.item():.6f}")

fitted = sphunc.VonMisesFisher.fit(samples.detach())
distance = vmf_kl(fitted.mu, fitted.kappa, mu, kappa.detach())
print(f"fitted concentration {fitted.kappa.item():.2f}, {distance.item():.4f} nats from the truth")
