"""What keeps a run's messages from being built."""


class ConditionError(Exception):
    """The run can't be built from what there is; the message says what is missing."""
