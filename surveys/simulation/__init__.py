"""Simulated people who take a running study over HTTP, and checks of the database afterwards.

In: a study and a number of people. Out: participants marked as simulated, and a report with all violations. The demo's
world is built by the same rules.
"""
