"""Claims of pages: each difference is tested against all that could have been claimed on its page.

In: rows of the parts. Out: claims with their interval and p, and for a page without any a sentence that says so.
Titles, cards, findings and marks may assert nothing else.
"""
