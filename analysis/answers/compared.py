"""The answers that a study compares: their runs, prompts and simulated users, and the item behind each spelling."""

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
    """The prompt whose items each slug shares: a variant's original, and for an asking that of its prompt."""
    originals = {prompt.slug: prompt.variant_of or prompt.slug for prompt in definition.prompts}
    return {asking.slug: originals[asking.prompt] for asking in definition.askings}


def spellings_of(aliases: Spellings, families: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Table of each family: the original's entries, and its variants' for other spellings."""
    found: dict[str, dict[str, str]] = {}
    for prompt in sorted(aliases, key=lambda slug: families.get(slug, slug) != slug):
        table = found.setdefault(families.get(prompt, prompt), {})
        found[families.get(prompt, prompt)] = {**aliases[prompt], **table}
    return found


def runs_of(study: Study) -> QuerySet[Run]:
    """The study's runs whose answers are compared, including benchmark runs without a study that are shared with it."""
    return Run.objects.of_study(study).exclude(condition__in=ASIDE)


def load_prompts(study: Study, only: Collection[str] = ()) -> tuple[dict[str, Prompt], dict[int, str]]:
    """Newest wording of each prompt by slug, and the slug of every prompt row that can be counted with it, by key.

    Covers first askings in the usual state only, or people who are asked again would count twice.
    """
    asked = Prompt.objects.filter(named(only, "slug"), asked_of_all(), version__study=study)
    rows = list(asked.order_by("-version__number", "position"))
    newest: dict[str, Prompt] = {}
    for row in rows:
        newest.setdefault(row.slug, row)
    same = {row.pk: row.slug for row in rows if asks_the_same(row, newest[row.slug])}
    return newest, same


def load_askings(study: Study, prompts: Mapping[str, Prompt]) -> tuple[dict[str, Prompt], dict[int, str]]:
    """Repeat askings of these prompts: newest wording by slug; by key, the slug of every row that can be counted."""
    rows = list(Prompt.objects.filter(version__study=study, asks__in=prompts).order_by("-version__number", "position"))
    newest: dict[str, Prompt] = {}
    for row in rows:
        newest.setdefault(row.slug, row)
    return newest, {row.pk: row.slug for row in rows if asks_the_same(row, prompts[row.asks])}


def load_drawn(study: Study) -> tuple[dict[str, Prompt], dict[int, str]]:
    """Questions of the newest version's set by slug, and the slug of every question row that asks the same, by key."""
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
    """A simulated user of a run, with its name from a file, or else a hash of its recipe if a run's users differ."""

    pk: int
    run: int
    number: int
    seed: int
    name: str
    recipe: str

    @property
    def who(self) -> Hashable:
        """Identity across a source's runs; None if all users of the run have the same text in front."""
        return self.name or ((self.seed, self.number, self.recipe) if self.recipe else None)


def simulated_users(runs: Mapping[int, Run]) -> Iterator[Puppet]:
    users = SimulatedUser.objects.filter(run__in=runs).annotate(hash=MD5(Cast("recipe", TextField())))
    for pk, run, index, name, recipe in users.values_list("id", "run_id", "index", "name", "hash"):
        yield Puppet(pk, run, index, runs[run].seed, name, "" if name or not runs[run].users_differ else recipe)
