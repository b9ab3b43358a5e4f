"""Annotators' work: items, slots with exact overlap, labels, training, gate.

In: items from files or from the analysis, and what annotators say about them. Out: labels as revisions that never
change.
"""
