"""Study files: their format, reading and rules.

In: a TOML file. Out: a `Definition`, or every fault at once with its line. The registries of names that a file may use
(kinds of annotation, orders, checks) are read from here. Pure: no Django, no database.
"""
