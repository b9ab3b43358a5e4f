"""How far annotators and judges agree, and which annotators to keep after a pilot.

In: labels that count. Out: coefficients with intervals, tables, figures, the gate's figures, disagreements to look at,
and the replication bundle of labels (`bundle/`); models' categories of mistakes become labels of the study of
errors. `papers/` makes the exhibits of a published paper.
"""
