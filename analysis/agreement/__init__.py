"""How far annotators and judges agree, and who stays after a pilot.

In: labels that count. Out: coefficients with intervals, tables, figures, the gate's figures, disagreements to look at,
and in `bundle/` the replication bundle of labels; attributes that annotators reject are handed on. In
`papers/` a published paper's exhibits.
"""
