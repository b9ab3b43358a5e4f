"""Hypotheses of the study file, tested as they were planned, with what differs from the plan."""
