"""Person or dice: how far answers differ within and between people, what other states of the account change, and what
explains it. The parts of the report about what people were asked more than once, and about each person's distance from
everybody else.
"""
