"""What is known about the people of a stage: every attribute kept of each, as annotators and judges are shown it."""

from collections.abc import Sequence

from django.db.models import F

from analysis.models import Attribute
from surveys.models import AnnotationItem, Study
from surveys.pasting.privacy import remove_personal
from surveys.studies.files.payloads import MOST_ENTRIES

LONGEST_ID = 19  # digits
SUREST = F("cluster_confidence").desc(nulls_last=True)


class Profiles:
    """Looked up once for each person. Of people whose corpus is not here: what the study itself has about them."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.known: dict[tuple[str, str], list[str]] = {}

    def of(self, items: Sequence[AnnotationItem]) -> list[str]:
        """The profile of the one whom these items are about, surest first; what the items say stands in any case."""
        first = items[0]
        if (first.corpus, first.cluster) not in self.known:
            self.known[first.corpus, first.cluster] = self.look_up(first)
        rated = [without_details(item.payload["attribute"]) for item in items]
        found = list(dict.fromkeys([*self.known[first.corpus, first.cluster], *rated]))
        others = [text for text in found if text not in rated][: max(0, MOST_ENTRIES - len(set(rated)))]
        kept = {*rated, *others}
        return [text for text in found if text in kept]

    def look_up(self, item: AnnotationItem) -> list[str]:
        if not item.cluster:  # about nobody in particular: what stands beside it is about somebody else
            return []
        source = int(item.source) if item.source.isdecimal() and len(item.source) < LONGEST_ID else 0
        row = Attribute.objects.filter(pk=source, user__corpus__name=item.corpus).first()
        if row:
            kept = Attribute.objects.filter(user=row.user_id, cluster_size__isnull=False)
            texts = kept.order_by(SUREST, "id").values_list("text", flat=True)
        else:
            rows = AnnotationItem.objects.filter(study=self.study, corpus=item.corpus, cluster=item.cluster)
            texts = rows.order_by("position").values_list("payload__attribute", flat=True)
        return [without_details(text) for text in texts]


def without_details(text: str) -> str:
    return remove_personal(text)[0]
