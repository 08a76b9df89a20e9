"""The paper's own figures (arXiv:2603.01168), quoted beside ours: never reproduced, since its data cannot be had."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SYSTEMS: Mapping[str, str] = MappingProxyType(
    {
        "sphunc": "SphUnc",
        "sphunc_paper": "SphUnc, to the letter",
        "hypergcn": "HyperGCN",
        "sshgnn": "SS-HGNN",
        "spherenet": "SphereNet",
        "cignn": "CI-GNN",
        "causal_sphhn": "Causal-SphHN",
        "edhnn": "ED-HNN",
        "boosting": "gradient boosting",
        "logistic": "logistic regression",
    }
)
"""What tables call a system."""

MAIN: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "hypergcn": {"snare": 63.2, "pheme": 71.1, "amigos": 58.7},
        "sshgnn": {"snare": 66.8, "pheme": 73.3, "amigos": 61.9},
        "spherenet": {"snare": 65.0, "pheme": 73.9, "amigos": 60.5},
        "cignn": {"snare": 68.2, "pheme": 76.5, "amigos": 63.8},
        "causal_sphhn": {"snare": 71.4, "pheme": 78.6, "amigos": 68.3},
        "sphunc": {"snare": 78.5, "pheme": 85.2, "amigos": 75.1},
    }
)
"""Table main_results: macro-F1 of snare, AUC of pheme, accuracy of amigos, in points."""

ECE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "hypergcn": {"snare": 0.082, "pheme": 0.088, "amigos": 0.090},
        "sshgnn": {"snare": 0.074, "pheme": 0.067, "amigos": 0.080},
        "spherenet": {"snare": 0.069, "pheme": 0.063, "amigos": 0.075},
        "cignn": {"snare": 0.060, "pheme": 0.059, "amigos": 0.071},
        "causal_sphhn": {"snare": 0.045, "pheme": 0.041, "amigos": 0.048},
        "sphunc": {"snare": 0.022, "pheme": 0.018, "amigos": 0.025},
    }
)
"""Table ece."""

PRECISION_AT_10: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "hypergcn": {"snare": 0.35, "pheme": 0.38, "financial": 0.32},
        "sshgnn": {"snare": 0.42, "pheme": 0.46, "financial": 0.40},
        "cignn": {"snare": 0.45, "pheme": 0.48, "financial": 0.43},
        "causal_sphhn": {"snare": 0.62, "pheme": 0.64, "financial": 0.59},
        "sphunc": {"snare": 0.78, "pheme": 0.81, "financial": 0.75},
    }
)
"""Table causal_recovery."""

ROBUSTNESS: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {
        "hypergcn": (63.2, 60.1, 55.7, 48.3),
        "sshgnn": (66.0, 63.2, 58.0, 51.5),
        "spherenet": (65.0, 62.0, 57.5, 50.8),
        "cignn": (68.2, 66.1, 62.3, 56.0),
        "causal_sphhn": (71.4, 70.6, 68.0, 62.1),
        "sphunc": (78.5, 78.0, 77.2, 75.8),
    }
)
"""Table robustness: macro-F1 of snare with 0, 20, 40 and 60 % of the features dropped."""

SIGNIFICANCE: Mapping[str, Mapping[str, tuple[float, str]]] = MappingProxyType(
    {
        "causal_sphhn": {"snare": (7.1, "0.003"), "pheme": (6.6, "0.004"), "amigos": (6.8, "0.002")},
        "cignn": {"snare": (10.3, "0.001"), "pheme": (8.7, "0.002"), "amigos": (11.3, "<0.001")},
        "spherenet": {"snare": (13.5, "<0.001"), "pheme": (11.3, "<0.001"), "amigos": (14.6, "<0.001")},
    }
)
"""Table significance: gain in points and p of a paired t-test."""

ABLATION: Mapping[str, tuple[str, float, float, float, float]] = MappingProxyType(
    {
        "default": ("full", 78.5, 0.022, 85.2, 0.018),
        "euclidean": ("Euclidean states", 69.8, 0.071, 76.1, 0.065),
        "only_aleatoric": ("aleatoric part only", 72.3, 0.055, 79.5, 0.048),
        "only_epistemic": ("epistemic part only", 70.1, 0.068, 77.8, 0.052),
        "ad_hoc_fusion": ("ad-hoc fusion", 74.0, 0.042, 81.3, 0.035),
        "no_scm": ("no structural causal model", 75.2, 0.038, 82.7, 0.030),
        "no_entropy_loss": ("no entropy calibration loss", 76.1, 0.051, 83.5, 0.041),
        "no_causal_regularisation": ("no causal regularisation", 76.8, 0.032, 84.0, 0.025),
        "dot_product_attention": ("dot-product attention", 73.5, 0.045, 80.2, 0.039),
        "pairwise_only": ("pairs instead of groups", 68.9, 0.075, 75.0, 0.069),
    }
)
"""Table ablation: name, macro-F1 and ECE of snare, AUC and ECE of pheme."""

SIZES: Mapping[str, tuple[int, int, int, int, int]] = MappingProxyType(
    {
        "snare": (540, 1120, 3, 24, 5),
        "pheme": (4830, 8000, 4, 300, 10),
        "amigos": (40, 120, 4, 128, 4),
        "financial": (5000, 12500, 5, 100, 20),
        "collaboration": (10000, 30000, 10, 50, 15),
    }
)
"""Table dataset_stats: nodes, hyperedges, classes, features per node, time points."""

HYPERPARAMETERS: tuple[tuple[str, str, str], ...] = (
    ("spherical embedding dimension D", "dim", "128"),
    ("concentration kappa", "", "[1, 200] (learned)"),
    ("width of the aleatoric head", "aleatoric_width", "64"),
    ("hidden layers of the fusion head", "", "2"),
    ("learning rate", "learning_rate", "5e-4"),
    ("batch size", "batch_size", "256"),
    ("dropout rate", "dropout", "0.3"),
    ("message passing layers", "layers", "3"),
    ("optimiser", "", "AdamW"),
    ("epochs of structure learning", "structure_epochs", "20"),
    ("Monte Carlo samples of an intervention S", "samples", "100"),
)
"""Table hyperparams: component, our setting of that name, the paper's value."""
