"""What runs were asked with, in words: which of it tells runs of a list apart, and where two runs differ."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.models import Run
from analysis.models.settings import STORED, RunSetting
from analysis.runs.pages.reads import is_simulated
from surveys.console.wording import plural


@dataclass(frozen=True)
class ShownSetting:
    """One setting: what a run has there, None where runs of its kind have nothing, and how a list says it."""

    label: str
    of: Callable[[Run], str | None]
    short: str = "{}"  # empty: a column of its own says it in a list


def declared(setting: RunSetting) -> ShownSetting:
    """One that only some conditions take; what is chosen by name stands in every run that has it."""

    def say(run: Run) -> str | None:
        value = setting.of(run)
        if setting.chooses_row:
            return value or None
        if not run.registered or setting.name not in run.registered.takes:
            return None
        return yes(value) if setting.kind is bool else str(value or "any") if setting.kind is str else str(value)

    return ShownSetting(setting.label, say, setting.short)


def repeated(words: Callable[[Run], str]) -> Callable[[Run], str | None]:
    """What a run that is no task and was not imported has there; tasks are asked once each."""
    return lambda run: words(run) if run.registered else None


def say_drawn(run: Run) -> list[tuple[str, str]]:
    """What stands in front of its prompts: each setting with its value."""
    settings = [declared(setting) for setting in STORED if setting.name != "users"]
    return [(setting.label, value) for setting in settings if (value := setting.of(run)) is not None]


def say_asked(run: Run) -> str | None:
    """Of a run that asks a study's prompts; what others ask stands in their title."""
    if run.benchmark or run.instruction:
        return None
    return plural(len(run.prompts), "prompt") if run.prompts else "all prompts"


def say_prompts(run: Run) -> str | None:
    return ", ".join(run.prompts) if run.prompts else None


def say_fields(run: Run) -> str | None:
    """What else each request carries; a scripted endpoint's fields are its script."""
    if run.endpoint is None:
        return run.imported_settings or None
    fields = [f"{name}={value}" for name, value in sorted(run.endpoint.extra.items()) if not is_simulated(run)]
    return ", ".join([*(["JSON schema"] if run.endpoint.json_schema else []), *fields]) or None


def yes(chosen: bool) -> str:
    return "yes" if chosen else "no"


def say_temperature(run: Run) -> str | None:
    return None if run.temperature is None else f"{run.temperature:g}"


ENDPOINT = ShownSetting("Endpoint", lambda run: run.endpoint.name if run.endpoint else None)
# In the order in which they are said.
SETTINGS = (
    ShownSetting("Condition", lambda run: run.title, ""),
    ShownSetting("Model", lambda run: run.model, ""),
    ENDPOINT,
    ShownSetting("Benchmark", lambda run: run.benchmark or None, ""),
    ShownSetting("Asked", say_asked),
    ShownSetting("Prompts", say_prompts, ""),
    ShownSetting("Version", lambda run: str(run.version.number) if run.version else None, "version {}"),
    ShownSetting("Temperature", say_temperature, "T {}"),
    *map(declared, STORED),
    ShownSetting("Repeats", repeated(lambda run: str(run.repeats)), "{} repeats"),
    ShownSetting("Seed", repeated(lambda run: str(run.seed)), "seed {}"),
    ShownSetting("Put as", lambda run: run.prompt_form if run.benchmark else None, "as {}"),
    ShownSetting("Worked examples", lambda run: yes(run.worked_examples) if run.benchmark else None, "examples: {}"),
    ShownSetting("Both orders", lambda run: yes(run.both_orders) if run.instruction else None, "both orders: {}"),
    ShownSetting("Items", lambda run: "pilot" if run.pilot else None),
    ShownSetting("Sent", lambda run: "by batch" if run.batch else "live" if run.endpoint else None),
    ShownSetting("More fields", say_fields),
    ShownSetting("Longest reply", lambda run: str(run.endpoint.max_tokens) if run.endpoint else None, ""),
)
ONE = {"{} repeats": "{} repeat", "{} users": "{} user"}


def say_short(setting: ShownSetting, value: str) -> str:
    return (ONE.get(setting.short, setting.short) if value == "1" else setting.short).format(value)


def telling_settings(runs: Sequence[Run]) -> list[ShownSetting]:
    """Those in which runs of the list differ that have one; of a single run all."""
    short = [setting for setting in SETTINGS if setting.short]
    if len(runs) == 1:
        return short
    return [setting for setting in short if _tells_apart(setting, runs)]


def _tells_apart(setting: ShownSetting, runs: Sequence[Run]) -> bool:
    if setting is ENDPOINT:  # the model has a column of its own: said where one model has several
        return len({(run.model, setting.of(run)) for run in runs}) > len({run.model for run in runs})
    return len({setting.of(run) for run in runs} - {None}) > 1


def say_settings(run: Run, settings: Sequence[ShownSetting]) -> str:
    """`T 1 · 400 repeats`."""
    return " · ".join(say_short(setting, value) for setting in settings if (value := setting.of(run)) is not None)


class SettingRow(NamedTuple):
    label: str
    values: list[str]
    differ: bool


def compare_settings(runs: Sequence[Run]) -> list[SettingRow]:
    """Every setting that one of the runs has, with what each has there; a dash where a run has nothing."""
    rows = [(setting.label, [setting.of(run) for run in runs]) for setting in SETTINGS]
    return [
        SettingRow(label, [value or "–" for value in values], len(set(values)) > 1)
        for label, values in rows
        if any(value is not None for value in values)
    ]
