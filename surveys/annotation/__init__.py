"""Annotators' work: items, slots with exact overlap, labels, training, gate.

In: items from files or from the analysis, and annotators' forms. Out: labels as revisions that never change.
"""
