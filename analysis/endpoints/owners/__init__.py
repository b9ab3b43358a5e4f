"""Owners of what belongs to no study, and the studies that they share it with, checked whenever somebody acts.

In: a corpus, a set of personas, a model or a run, an account and a study. Out: leave to use or change it, or a refusal
in words; and the form by which its owner shares it.
"""
