"""Facts about a study's people: the monitor, lists, decisions about one person.

In: participants with everything they gave. Out: numbers, lists and reasons for the console; decisions go into the
audit trail.
"""
