"""Plans: what a study's hypotheses cost to know. In: a definition; out: widths and chances by scenario and size.

The hypotheses are simulated many times and go through the tests of the report; plan and page of a study, the command,
and texts for registries rest on it.
"""
