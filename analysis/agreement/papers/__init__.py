"""The figures and tables of a published paper, under its own numbers, made from studies and corpora that repeat it.

In: studies of annotators, corpora with sampled people, trained models. Out: one page and one command with every
figure and table, beside the published values.
"""
