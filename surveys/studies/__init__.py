"""Studies: what their files may say, how they live, who may see what, and the chain of decisions.

In: study files; researchers' decisions; an account, a signed link or an address. Out: a `Definition`, or every fault at
once with its line (`files`, which knows no database); frozen versions; for the analysis, which people and labels count
and why others are left out; a study with a role, a person, or a refusal. Decisions of people and of the system are
appended to the audit trail, which anybody may verify. `imports` reads files from elsewhere. `pages` is the frame of
every page about a study, `wording` how all pages write numbers. The shipped study files are here too.
"""
