"""Prolific from invitation to payment: what its API says, compared with what is known here, decided, paid once.

In: submissions and studies of Prolific's API, decisions of researchers. Out: a mirror of the submissions, what each
disagreement means, and a ledger of payments that cannot pay twice.
"""
