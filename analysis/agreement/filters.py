"""Which labels an agreement page is about, as its address says and as its form offers."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from analysis.agreement.annotations import Choice
from surveys.models import AnnotationItem, Study

MOST_OFFERED = 300
LONGEST = 200


@dataclass(frozen=True)
class Offered:
    """What the study's items can be chosen by."""

    corpora: list[str]
    clusters: list[str]
    tags: list[str]
    has_pilot: bool


def read_choice(query: Mapping[str, str]) -> Choice:
    """`pilot=only`, `simulated=without`, `corpus`, `cluster`, `tag=NAME:VALUE`; all else is the default."""
    texts = {name: query.get(name, "").replace("\x00", "")[:LONGEST] for name in ("corpus", "cluster", "tag")}
    return Choice(pilot=query.get("pilot") == "only", simulated=query.get("simulated") != "without", **texts)


def write_choice(choice: Choice, **more: str) -> str:
    """The same as an address' query; what is left to its default is left out."""
    given = {
        "pilot": "only" if choice.pilot else "",
        "simulated": "" if choice.simulated else "without",
        "corpus": choice.corpus,
        "cluster": choice.cluster,
        "tag": choice.tag,
        **more,
    }
    return urlencode({name: value for name, value in given.items() if value})


def list_offered(study: Study, pilot: bool) -> Offered:
    """In one query; of many users only the first are offered, and any can be written into the address."""
    rows = AnnotationItem.objects.filter(study=study, purpose=AnnotationItem.Purpose.WORK).order_by("position")
    corpora, clusters, tags, has_pilot = set(), {}, set(), False
    for of_pilot, corpus, cluster, tagged in rows.values_list("pilot", "corpus", "cluster", "tags"):
        has_pilot = has_pilot or of_pilot
        if of_pilot is pilot:
            corpora.add(corpus)
            clusters[cluster] = True
            tags.update(f"{name}:{value}" for name, value in tagged.items() if isinstance(value, str | int | float))
    some = [sorted(corpora - {""}), [cluster for cluster in clusters if cluster], sorted(tags)]
    return Offered(*(each[:MOST_OFFERED] for each in some), has_pilot=has_pilot)
