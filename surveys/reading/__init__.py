"""The one reader of answers, for people and models alike.

In: a pasted or completed text. Out: its items with the names they were written as, or a letter; a doubt if the reading
may be wrong; findings of the paste checks, and personal details. Pure: no Django, no database.
"""
