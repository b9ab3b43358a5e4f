"""Is it the person or the dice: how unlike two answers are within one person and between two, and what explains it.

In: answers to one prompt with the person of each. Out: means over pairs with intervals over persons, permutation tests,
effects of a state of the account, and what goes with being far from everybody else.
"""
