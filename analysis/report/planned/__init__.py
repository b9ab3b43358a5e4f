"""Hypotheses of the study file, tested as planned, with deviations from the plan."""
