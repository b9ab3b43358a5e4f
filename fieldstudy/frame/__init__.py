"""What stands around the console's pages of a study: its entries with their state, the tabs of one, the next steps.

In: a request for a page, and the tab that the page says it belongs to.
Out: a `Frame`, which the console finds by the setting `CONSOLE_FRAME`.
"""
