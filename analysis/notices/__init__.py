"""Where a study stands and what waits: in the frame around its pages, and as news for people who are not looking.

In: a request for a page with the tab that it says it belongs to; what the pages of monitoring, runs and drift show.
Out: a `ConsoleFrame` of entries with their state, the tabs of one, the next steps; the console finds the function that
makes it by the setting `CONSOLE_FRAME`. And at most one message an hour or a day to each mail address or webhook; each
piece of news is told once until it changes.
"""
