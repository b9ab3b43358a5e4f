"""Whose things without a study are, with which studies they are shared, and when that is asked: at the press.

In: a corpus, a set of personas, a model or a run, an account and a study. Out: leave to use or to change it, or a
refusal in words; and the form by which its owner shares it.
"""
