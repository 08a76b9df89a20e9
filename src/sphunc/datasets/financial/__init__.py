"""Financial: prices per day and sectors, in several public layouts."""

from sphunc.datasets.financial.dataset import CARD, DATASET, FinancialOptions

__all__ = ["CARD", "DATASET", "FinancialOptions"]
