"""What a study file may say.

In: a TOML file. Out: a `Definition`, or every fault at once with its line. The registries of what a file may name
(kinds of annotation, orders, checks) are read from here. Pure: no Django, no database.
"""
