"""Names that researchers read for what the rows call by a slug."""

from surveys.reading.checks import CHECKS

CHECK_NAMES = {name: check.label for name, check in CHECKS.items()}
# What follows "The study is".
STATE_WORDS = {
    "draft": "a draft",
    "pilot": "in its pilot",
    "live": "live",
    "paused": "paused",
    "closed": "closed",
}
OUTCOME_NAMES = {
    "no_consent": "No consent",
    "screened_out": "Screened out",
    "over_quota": "Over quota",
    "misunderstood": "Comprehension check failed twice",
    "technical": "Technical trouble",
    "returned": "Returned",
    "timed_out": "Timed out",
    "withdrawn": "Withdrawn",
    "in_progress": "Still working",
    "completed": "Completed",
    "late": "Late, after the place was given away",
}
REASON_NAMES = {
    "chatbot": "uses none of the chatbots",
    "no-group": "belongs to no group of this study",
    "cells-full": "every fitting cell was full",
    "comprehension-failed-twice": "comprehension check failed twice",
    "returned-by-participant": "by the participant",
    "returned-on-prolific": "on Prolific",
    "at questions": "at the first questions",
    "at instructions": "at the instructions",
    "at comprehension": "at the comprehension check",
    "at context": "at the chatbot context",
    "at prompts": "at the prompts",
    "at debrief": "at the last page",
    "at end": "after the end",
}


def reason_name(reason: str) -> str:
    """A reason in words; a screening question's slug is named as such."""
    return REASON_NAMES.get(reason, f"question “{reason}”" if " " not in reason else reason)
