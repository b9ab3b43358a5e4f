"""Prolific from invitation to payment: its data compared with ours, decisions, and payments made once.

In: submissions and studies of Prolific's API, decisions of researchers. Out: a mirror of the submissions, the meaning
of each disagreement, and a ledger of payments that cannot pay twice.
"""
