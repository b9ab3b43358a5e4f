"""The researchers' pages: their frame, accounts, studies, members, collecting, the audit trail.

In: requests of logged-in accounts. Out: pages; every query goes through `access.study_for`. `monitoring` computes
figures about people, `editor` writes study files. Rooms of the analysis show their own pages in the same frame.
"""
