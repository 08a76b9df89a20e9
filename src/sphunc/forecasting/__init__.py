"""What SphUnc and the baselines share: predictive distributions, forecasts, hold-out, calibration, storage."""
