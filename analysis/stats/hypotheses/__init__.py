"""A plan's hypotheses as numbers: the test of each measure, what a family of them supports, and looks on the way."""
