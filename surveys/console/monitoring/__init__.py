"""What is known of the people of a study: the flow from arrival to analysis, the monitor, decisions about one.

In: participants with everything they gave. Out: numbers, lists and reasons for the console; decisions go into the
audit trail.
"""
