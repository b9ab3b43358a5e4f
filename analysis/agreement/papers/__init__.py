"""A published paper's figures and tables, under its own numbers, made from the studies and corpora that repeat it.

In: studies of annotators, the corpora whose people were sampled, models that learned. Out: one page and one command
with every figure and table, with the published values beside them.
"""
