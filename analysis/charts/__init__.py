"""How figures look: theme, marks, panels, captions, and rendering to SVG, PNG and PDF.

In: rows of numbers and options. Out: a Vega-Lite spec with its words and its table, and files made from it. Knows
nothing of studies.
"""
