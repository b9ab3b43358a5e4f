"""Studies: their files and frozen versions, life cycle, members and access, and audit trail.

In: study files; researchers' decisions; an account, a signed link or an address. Out: a `Definition`, or every fault at
once with its line (`files`, which knows no database); frozen versions; the people and labels that the analysis counts,
with the reasons against all others; a study with a role, a person, or a refusal. Decisions of people and the system are
appended to the audit trail, which anybody may verify. `imports` reads files from elsewhere, `pages` frames every page
about a study, `wording` formats numbers for all pages. The shipped study files are here too.
"""
