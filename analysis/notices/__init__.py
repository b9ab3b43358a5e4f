"""News that somebody must hear of who does not look at the console: by mail, or to a webhook.

In: how studies stand, as the pages of monitoring, runs and drift say it. Out: at most one message an hour or a day to
each address, in which every piece of news stands once until it changes.
"""
