"""Who may see what, how often an address may try something, and the chain of what was decided.

In: an account, a signed link or an address. Out: a study with a role, a person, or a refusal. Decisions of people and
of the system are appended to the audit trail, which anybody may verify.
"""
