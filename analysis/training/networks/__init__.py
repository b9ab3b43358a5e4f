"""Training of neural networks, each in its own process that knows neither the database nor the platform.

In: a folder with `job.json` and `examples.jsonl`. Out: weights, scores and `progress.json` in the same folder. Only
modules in here import torch, and nothing imports them: they are started as programs.
"""
