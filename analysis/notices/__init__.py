"""News of studies for people who are not looking at the console, by mail or webhook.

In: what the pages of monitoring, runs and drift show. Out: at most one message an hour or a day to each address; each
piece of news is told once until it changes.
"""
