"""A person's path through a study: arrival, consent, questions, place, pages, end, and Prolific.

In: requests with Prolific's ids or a signed link, and Prolific's webhooks. Out: participants, sessions, places and
codes. `pasting` has the paste page; annotators' pages are a room of their own.
"""
