"""What if: set one agent's state in a simulated world, and see whom it moves, how surely, and how right that is.

Run: python examples/what_if.py
"""

import sphunc

world = sphunc.simulate("snare", seed=1, agents=120, times=8)
data = world.data
model = sphunc.SphUnc(seed=0).fit(data, verbose=False)

agent = str(data.node_ids[int(world.links[0].bincount().argmax())])
name = data.class_names[0]
effect = model.intervene(sphunc.Do(agent, toward=name), data=data, horizon=2, samples=100, seed=0)
print(effect)
print(effect.top_affected(3))

truth = world.interventional({agent: name}, origin=data.num_times - 1, horizon=2)
print(f"mean distance from the true distribution: {float((effect.probabilities - truth).abs().sum(1).mean()) / 2:.3f}")

print(model.sweep(agent, name, angles=(0.0, 0.5, 1.0), data=data, samples=100))
print(model.counterfactual(sphunc.Do(agent, toward=name), data=data, origin=3, horizon=2, samples=40))
