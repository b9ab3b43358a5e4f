"""The statistics of methods.md over plain arrays; nothing here knows Django, the database or the words of a study."""
