"""The report: the field beside offline runs and sock puppets, every number with n and its interval.

In: answers, narrowed by filters and exclusions. Out: parts as rows, kept by fingerprint, and what renders them: pages,
terminal, HTML, PDF, API, figures and the replication bundle.

`parts/`, `questions/`, `persons/`, `pairs/` and `planned/` compute the parts, `claims/` tests what pages assert,
`filters.py` says which answers a view is about, `pages/`, `outputs/` and `bundle/` render the parts.
"""
