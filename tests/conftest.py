"""Settings for every test: one thread per worker, so that workers do not fight over the cores."""

import torch

torch.set_num_threads(1)
