"""Annotation: which items there are, who is given which, what was said, and whose labels count."""
