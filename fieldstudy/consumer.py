"""How a worker hears of its tasks: `worker_consumer` in fieldstudy/settings.py names it."""

import logging

from celery.worker import consumer

log = logging.getLogger(__name__)


# What Kombu fails with over a connection that it has closed; Celery takes both for the worker's own end.
CLOSED = (AttributeError, AssertionError)


class Consumer(consumer.Consumer):
    """Celery's, which also goes on when the broker was restarted.

    Kombu gives unfinished messages back while it closes a lost connection, also where the broker does not listen yet;
    and a task that ends after that is acknowledged through the closed connection. What is not given back or
    acknowledged is delivered once more.
    """

    connection_errors: tuple[type[BaseException], ...]

    def update_strategies(self) -> None:
        """Here tasks learn which errors of an acknowledgement are noted and no more."""
        lost = self.connection_errors
        self.connection_errors = (*lost, *CLOSED)
        super().update_strategies()
        self.connection_errors = lost

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        try:
            super().on_connection_error_after_connected(exc)
        except CLOSED as fault:
            log.warning("What the lost broker had handed out is not given back: %s", fault)
