"""The frame around the console's pages of a study: its entries with their state, the tabs of one, the next steps.

In: a request for a page, and the tab that the page says it belongs to.
Out: a `ConsoleFrame`; the console finds the function that makes it by the setting `CONSOLE_FRAME`.
"""
