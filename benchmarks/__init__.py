"""Measures how fast the platform is on this computer, and how often its numbers and rules are right; see README.md."""
