"""What if: interventions, simulation of both arms, effects and entropies, counterfactuals."""
