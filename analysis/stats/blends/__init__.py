"""Which blend of sources comes nearest to the field, judged without the bias that samples of few answers have.

In: how unlike answers are, whose, and of which side. Out: distances, weights with intervals, and the chance of luck.
"""
