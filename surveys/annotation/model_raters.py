"""Models that labelled a study's items, by name: what they said chooses what is done next."""

from typing import NamedTuple

from surveys.annotation.counted import TRAINED, counted, iter_labels
from surveys.models import Study
from surveys.studies.files.kinds import LabelQuestion


class RaterError(ValueError):
    """No such rater; the message says which there are."""


class ModelRater(NamedTuple):
    """A judge, or a model that learned from people; of the latter the hash of its folder, of a judge nothing."""

    name: str
    version: str = ""

    @property
    def named(self) -> dict[str, str]:
        """As it is kept with what it chose."""
        return {"rater": self.name, "version": self.version}


def find_rater(study: Study, name: str) -> ModelRater:
    """By its whole name, or a trained model by the model's. Raises RaterError."""
    rows = counted(study).exclude(judge="").order_by("judge", "-id")
    versions = dict(rows.distinct("judge").values_list("judge", "detail__version"))
    found = [each for each in versions if each == name or each.startswith(f"{TRAINED} {name} ")]
    if not found:
        known = ", ".join(sorted(versions)) or "none yet"
        raise RaterError(
            f"No model called {name} has labelled items of {study.slug}; those that have: {known}. "
            f"predict {name} --study {study.slug} lets a trained one, judge {study.slug} a prompted one."
        )
    if len(found) > 1:
        raise RaterError(f"{name} is the name of several raters: {', '.join(found)}. Choose one of them.")
    return ModelRater(found[0], versions[found[0]] or "")


def labels_by(study: Study, rater: ModelRater, question: LabelQuestion) -> dict[str, str]:
    """What it says of each item that it labelled, by the item's key."""
    rows = iter_labels(study)
    return {row.item: row.value for row in rows if row.rater == rater.name and row.question == question.name}
