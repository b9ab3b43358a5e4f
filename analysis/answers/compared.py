"""Which answers of a study are compared: of which runs, to which prompts, whose, and what each spelling stands for."""

from collections.abc import Collection, Hashable, Iterator, Mapping
from typing import NamedTuple

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import MD5, Cast

from analysis.models import Run, SimulatedUser
from analysis.models.runs import ASIDE
from surveys.models import Prompt, Study, asked_of_all
from surveys.studies.files.definitions import Definition

Spellings = Mapping[str, Mapping[str, str]]  # prompt or family → spelling → the item that it stands for


def families_of(definition: Definition) -> dict[str, str]:
    """By slug the prompt whose items it shares: of a variant its original, of an asking that of its prompt."""
    originals = {prompt.slug: prompt.variant_of or prompt.slug for prompt in definition.prompts}
    return {asking.slug: originals[asking.prompt] for asking in definition.askings}


def spellings_of(aliases: Spellings, families: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The table of each family: that of the original, and what its variants say of other spellings."""
    found: dict[str, dict[str, str]] = {}
    for prompt in sorted(aliases, key=lambda slug: families.get(slug, slug) != slug):
        table = found.setdefault(families.get(prompt, prompt), {})
        found[families.get(prompt, prompt)] = {**aliases[prompt], **table}
    return found


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs whose answers are compared, and the benchmark runs without a study that are shared with it."""
    return Run.objects.of_study(study).exclude(condition__in=ASIDE)


def load_prompts(study: Study, only: Collection[str] = ()) -> tuple[dict[str, Prompt], dict[int, str]]:
    """The newest wording of each prompt by slug, and the slug of every prompt that can be counted with it.

    Of prompts that somebody is asked again this is the first time, in the usual state: else one person counts twice.
    """
    asked = Prompt.objects.filter(named(only, "slug"), asked_of_all(), version__study=study)
    rows = list(asked.order_by("-version__number", "position"))
    newest: dict[str, Prompt] = {}
    for row in rows:
        newest.setdefault(row.slug, row)
    same = {row.pk: row.slug for row in rows if asks_the_same(row, newest[row.slug])}
    return newest, same


def load_askings(study: Study, prompts: Mapping[str, Prompt]) -> tuple[dict[str, Prompt], dict[int, str]]:
    """What asks these prompts once more, by slug in the newest wording; and the slug of all that can be counted."""
    rows = list(Prompt.objects.filter(version__study=study, asks__in=prompts).order_by("-version__number", "position"))
    newest: dict[str, Prompt] = {}
    for row in rows:
        newest.setdefault(row.slug, row)
    return newest, {row.pk: row.slug for row in rows if asks_the_same(row, prompts[row.asks])}


def load_drawn(study: Study) -> tuple[dict[str, Prompt], dict[int, str]]:
    """The questions of the newest version's set by slug, and the slug of every question that asks the same."""
    rows = list(Prompt.objects.filter(version__study=study, is_drawn=True))
    newest = {row.slug: row for row in rows if row.version_id == study.current_id}
    by_item = {row.benchmark_item: row for row in newest.values()}
    same = {
        row.pk: by_item[row.benchmark_item].slug
        for row in rows
        if row.benchmark_item in by_item and row.text == by_item[row.benchmark_item].text
    }
    return newest, same


def named(only: Collection[str], field: str) -> Q:
    return Q(**{f"{field}__in": only}) if only else Q()


def asks_the_same(one: Prompt, other: Prompt) -> bool:
    return one.kind == other.kind and one.choices == other.choices


class Puppet(NamedTuple):
    """A simulated user of a run, with the name that a file gives or a hash of what stands in front, or neither."""

    pk: int
    run: int
    number: int
    seed: int
    name: str
    recipe: str

    @property
    def who(self) -> Hashable:
        """The same in every run of a source in which it is the same user; None where all have the same in front."""
        return self.name or ((self.seed, self.number, self.recipe) if self.recipe else None)


def simulated_users(runs: Mapping[int, Run]) -> Iterator[Puppet]:
    users = SimulatedUser.objects.filter(run__in=runs).annotate(hash=MD5(Cast("recipe", TextField())))
    for pk, run, index, name, recipe in users.values_list("id", "run_id", "index", "name", "hash"):
        yield Puppet(pk, run, index, runs[run].seed, name, "" if name or not runs[run].users_differ else recipe)
