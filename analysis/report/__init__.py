"""The report: the field beside offline runs and sock puppets, every number with n and its interval.

In: answers, narrowed by filters and exclusions. Out: parts as rows, kept by fingerprint, and what renders them: pages,
terminal, HTML, PDF, API, figures and the replication bundle.

`parts/`, `questions/` (with choices), `persons/` (one by one), `pairs/` (sides that a reader chooses) and `planned/`
(hypotheses) compute the parts, `multiverse/` tests each hypothesis under every choice of analysis, `claims/` tests what
pages assert, `filters.py` says which answers a view is about, `pages/`, `outputs.py` and `bundle/` render the parts.
"""
