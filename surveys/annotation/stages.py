"""Studies as successive stages: the next one, by the study file, and the whole line."""

from surveys.models import Study
from surveys.studies.lifecycle import annotation_of


def next_of(study: Study) -> str:
    """The slug of the next stage that the study file names; empty if it names none."""
    work = annotation_of(study)
    return work.next if work else ""


def stages_of(study: Study) -> list[str]:
    """Slugs of all stages in order, this study's among them; the last may not exist yet."""
    before = [study.slug]
    while (earlier := _before(before[0])) and earlier not in before:
        before.insert(0, earlier)
    line, found = before, study
    while (later := next_of(found)) and later not in line:
        line = [*line, later]
        known = Study.objects.filter(slug=later).first()
        if known is None:
            break
        found = known
    return line


def _before(slug: str) -> str:
    named = Study.objects.filter(current__document__annotation__next=slug).order_by("pk")
    return named.values_list("slug", flat=True).first() or ""
