"""Every table in every format, with its codebook.

In: an account and a study. Out: CSV, JSONL, Parquet and SPSS as streams; each export is noted in the audit trail. One
declaration of columns serves tables, codebook and API.
"""
