"""How a worker hears of its tasks: `worker_consumer` in fieldstudy/settings.py names it."""

import logging

from celery.worker import consumer

log = logging.getLogger(__name__)


class Consumer(consumer.Consumer):
    """Celery's, which also goes on when the broker was restarted.

    Kombu gives unfinished messages back while it closes a lost connection. Where the broker does not listen yet, it
    fails over what it has closed already, with an error that Celery takes for the worker's own end.
    """

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except (AttributeError, AssertionError) as fault:
            log.warning("What the lost broker had handed out is not given back: %s", fault)
