"""Reading texts: each is read once by rules, people review the doubtful ones, and spellings of one item are merged.

In: responses and completions. Out: answers with the version of their rules, decisions that can be undone, a numbered
table of aliases, and how often the people who saw a reading call it right.
"""
