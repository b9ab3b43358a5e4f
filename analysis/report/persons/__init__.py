"""What the report says about individuals: their own repeated answers beside other people's (person or dice), what other
states of the account change, and what explains each person's distance from everybody else.
"""
