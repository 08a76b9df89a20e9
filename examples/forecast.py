"""From tables on disk to forecasts that say how sure they are, sets of stated coverage, and a model that is kept.

Run: python examples/forecast.py
"""

import tempfile
from pathlib import Path

import sphunc
from sphunc.evaluation import check_calibration

with tempfile.TemporaryDirectory() as place:
    folder = Path(place) / "my-folder"
    sphunc.write_tables(sphunc.simulate("snare", seed=0, agents=120, times=6).data, folder)  # in place of your own

    data = sphunc.read_tables(folder)
    past = data.until(4)  # up to the time labelled 4; the last time is kept for the test
    model = sphunc.SphUnc(seed=0).fit(past)
    print(model.comparison_)  # held-out outcomes: what covariates, states and links are worth
    print(f"Verdict: {model.verdict_}.")

    forecast = model.predict(past, coverage=0.9)
    print(forecast)
    print(
        forecast.to_frame()
        .select("agent", "prediction", "confidence", "epistemic", "aleatoric", "total", "set")
        .head(5)
    )
    print(f"The sets: {forecast.caveat}.")

    happened = data.y[5]
    is_known = data.y_mask[5]  # outcomes that nobody observed count for nothing
    inside = forecast.set.gather(1, happened[:, None])[is_known].float().mean()
    print(f"Of the outcomes that came, {inside:.0%} were in their set (asked: {forecast.coverage:.0%}).")
    print(f"Mean log-likelihood {model.score(data):.3f}, accuracy {model.score(data, metric='accuracy'):.3f}.")
    print(check_calibration(forecast.probabilities, happened, mask=is_known))

    model.save(Path(place) / "my-model")  # JSON and safetensors, no pickle
    again = sphunc.SphUnc.load(Path(place) / "my-model").predict(past)
    print("The same after loading:", bool((again.probabilities == forecast.probabilities).all()))
