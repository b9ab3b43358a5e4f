"""The worker's consumer of tasks, which `CELERY_WORKER_CONSUMER` in fieldstudy/settings.py names."""

import logging

from celery.worker import consumer

log = logging.getLogger(__name__)


# Kombu's errors over a connection that it has closed; Celery takes both for the worker's own end.
CLOSED = (AttributeError, AssertionError)


class Consumer(consumer.Consumer):
    """Celery's consumer, which also survives a restart of the broker.

    Kombu returns unfinished messages while it closes a lost connection, even if the broker does not listen yet; and a
    task that ends after that is acknowledged through the closed connection. Messages neither returned nor acknowledged
    are delivered once more.
    """

    connection_errors: tuple[type[BaseException], ...]

    def update_strategies(self) -> None:
        """Tell tasks which errors of an acknowledgement they only log."""
        lost = self.connection_errors
        self.connection_errors = (*lost, *CLOSED)
        super().update_strategies()
        self.connection_errors = lost

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except CLOSED as fault:
            log.warning("What the lost broker had handed out is not given back: %s", fault)
