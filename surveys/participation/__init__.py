"""A person's way through a study: arriving, consent, questions, a place, pages, the end, Prolific.

In: requests with Prolific's ids or a signed link, and Prolific's webhooks. Out: participants, sessions, places and
codes. The paste page is in `pasting`; annotators' pages are a room of their own.
"""
