"""The statistics of methods.md over plain arrays; knows nothing of Django, the database or a study's words."""
