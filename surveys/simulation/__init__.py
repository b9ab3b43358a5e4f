"""Simulated people who take a running study over HTTP, and what must be true afterwards.

In: a study and how many people. Out: participants marked as simulated, and a report on what went wrong. The demo's
world is built by the same rules.
"""
