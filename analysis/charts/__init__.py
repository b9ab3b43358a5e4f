"""How any figure looks: theme, marks, panels, captions, and rendering to SVG, PNG and PDF.

In: rows with numbers and what a figure wants to show of them. Out: a Vega-Lite spec with its words and its table, and
files of it. Knows nothing of studies.
"""
