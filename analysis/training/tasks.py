"""Background work: trains models one after the other, those that wait and those that were interrupted."""

import logging

from celery import shared_task

from analysis.training.examples import TrainingError
from analysis.training.jobs import TrainingStopped, next_waiting, train

log = logging.getLogger(__name__)


@shared_task
def train_next() -> None:
    """Train the next model, if nothing else is trained on this machine; one that fails keeps the reason."""
    model = next_waiting()
    if model is None:
        return
    try:
        train(model)
    except (TrainingError, TrainingStopped) as error:
        log.info("%s", error)
