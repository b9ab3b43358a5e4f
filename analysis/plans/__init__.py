"""Plans: what it costs to test a study's hypotheses. In: a definition; out: widths and chances by scenario and size.

Simulates the hypotheses many times through the report's own tests. The page *Plan*, the command `plan` and the texts
for registries rest on this.
"""
