"""How far annotators and judges agree, and who stays after a pilot.

In: labels that count. Out: coefficients with intervals, tables, figures, the gate's figures, and disagreements to look
at; attributes that annotators reject are handed on.
"""
