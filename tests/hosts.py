"""Settings for hosts in tests: the platform's own, with a beat short enough to wait for."""

from fieldstudy.settings import *  # noqa: F403 - all of them
from fieldstudy.settings import CELERY_BEAT_SCHEDULE

for name in ("train-next", "read-new-texts"):
    CELERY_BEAT_SCHEDULE[name] |= {"schedule": 2.0}
