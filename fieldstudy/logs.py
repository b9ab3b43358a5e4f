"""Log lines, without personal data."""

import logging
import re

# The signed part of a participant's address, Prolific's ids, rows of tables.
LINK = re.compile(r"(/[as]/[\w-]+/)[^/\s~]+~[\w-]+|(PROLIFIC_PID=|SESSION_ID=)[^&\s'\"]+")
ROW = re.compile(r"^(DETAIL|CONTEXT): .*(?:\n {2,}.*)*", re.MULTILINE)


class PrivateFormatter(logging.Formatter):
    """A formatter that leaves these out, in tracebacks and their messages too."""

    def format(self, record: logging.LogRecord) -> str:
        text = LINK.sub(lambda found: f"{found[1] or found[2]}…", super().format(record))
        return ROW.sub(r"\1: left out", text)


class OneLine(logging.Filter):
    """A filter that puts bad requests, such as a wrong Host header, and ticks that the broker did not take in one line;
    our own faults keep tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        fault = record.exc_info[1] if record.exc_info else None
        if record.name.startswith("django.security."):
            record.exc_info = None
        elif type(fault).__name__ == "SchedulingError":  # of beat, whose message has a stack too
            record.msg, record.args, record.exc_info = str(fault), (), None
        return True
