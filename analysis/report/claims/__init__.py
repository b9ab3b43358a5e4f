"""Whatever a page asserts: each difference is held against all that could have been said on the page.

In: rows of the parts. Out: claims with their interval and p, and for a page without any a sentence that says so. What
is not among the claims no title, card, finding or mark may say.
"""
