"""Settings for every test: one thread per worker, and the same examples of properties in every run."""

import torch
from hypothesis import settings

torch.set_num_threads(1)

# A run says the same about the same code. For new examples: pytest -m hypothesis --hypothesis-profile=default
settings.register_profile("repeatable", derandomize=True)
settings.load_profile("repeatable")
