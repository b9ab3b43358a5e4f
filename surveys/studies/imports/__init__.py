"""Imports: one reader of tables, whose faults name file, line and column.

In: CSV and JSON lines. Out: rows, or every fault at once and nothing stored. Responses collected elsewhere and
benchmark items are stored here; annotation and runs read their own files with the same reader.
"""
