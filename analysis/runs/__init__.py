"""Runs: everything that is asked of a model, planned, sent, resumed and read.

In: a study's prompts, a benchmark's items or tasks, an endpoint and a condition. Out: one completion for each call,
within a budget, each rebuilt exactly from its recipe.

`recipes/` says what a call asks, `asking/` what tasks and judges are asked and what their replies say, `lanes/` how
calls are sent, `imports.py` reads completions from elsewhere, `pages/` shows runs in the console.
"""
