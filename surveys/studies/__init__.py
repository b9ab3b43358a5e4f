"""Studies as they live: loaded, launched, amended, paused and closed; members; rules of exclusion.

In: definitions and decisions of researchers. Out: frozen versions and, for the analysis, who and what is left out and
why. The shipped study files lie here.
"""
