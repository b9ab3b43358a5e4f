"""A person's way through a study: arriving, consent, questions, a place, pages, the end, Prolific.

In: requests with Prolific's ids or a signed link, and Prolific's webhooks. Out: participants, sessions, places and
codes. The pages that pasting and annotation add to this way stand in their own rooms.
"""
