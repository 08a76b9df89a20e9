"""Who influences whom, in a world where the answer is known.

Run: python examples/who_influences_whom.py
"""

import sphunc
from sphunc.evaluation import auprc, precision_at_k

world = sphunc.simulate("snare", seed=1, agents=150, times=10)
graph = sphunc.discover(world.states, data=world.data, diagnose=False, calibrate=False)
print(graph)
print(graph.top(5))

truth = set(map(tuple, world.links.T.tolist()))
is_link = [pair in truth for pair in map(tuple, graph.links.T.tolist())]
print(f"precision of the first 10: {precision_at_k(graph.probability, is_link, 10):.2f}")
print(f"area under the precision-recall curve: {auprc(graph.probability, is_link):.2f}")
