"""What the completions of each source cost, and how long they took."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from analysis.models import Completion, Run
from analysis.report.rows import Row, span
from analysis.report.samples import Data, is_made_up, source_of, source_order
from analysis.stats.scores import Percentile, percentiles

Status = Completion.Status
COLUMNS = ("run", "prompt", "status", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms", "usd")
WAITS = (0.5, 0.95)
NOT_TIMED = "Answers of a batch, and imported ones, have no waiting time."


def costs(data: Data) -> list[Row]:
    """A row for each source over the study's prompts, and one for each benchmark; all its runs together."""
    return [cost_row(head, calls) for head, calls in by_source(data) if len(calls)]


def latency(data: Data) -> list[Row]:
    """Waiting times by prompt: of the study's prompts, not of benchmarks."""
    found = []
    for head, calls in by_source(data):
        if head.pop("benchmark") is not None:
            continue
        for prompt in data.prompts:
            done = calls[(calls["prompt"] == prompt) & (calls["status"] == Status.DONE)]
            if len(done):
                found.append({"prompt": prompt, **head, **waits(done)})
    return found


def by_source(data: Data) -> Iterator[tuple[Row, pd.DataFrame]]:
    """What each row says of its source, and the calls of its runs."""
    runs: dict[tuple[str, str, str], list[Run]] = {}
    for run in sorted(data.frames.runs.values(), key=lambda run: source_order(source_of(run, data.definition))):
        if data.filters.wants_source(source_of(run, data.definition)):
            runs.setdefault((run.source, run.model, run.benchmark), []).append(run)
    calls = data.once(("calls",), lambda: load_calls([run.pk for run in data.frames.runs.values()]))
    for (source, model, benchmark), members in runs.items():
        made_up = all(is_made_up(run) for run in members)
        head = {"source": source, "model": model, "benchmark": benchmark or None, "simulated": made_up}
        yield head, calls[calls["run"].isin([run.pk for run in members])]


def load_calls(runs: list[int]) -> pd.DataFrame:
    ended = Completion.objects.filter(run__in=runs, status__in=[Status.DONE, Status.FAILED]).order_by("id")
    fields = ("run_id", "prompt__slug", "status", "prompt_tokens", "cached_tokens", "completion_tokens", "latency_ms")
    table = pd.DataFrame(list(ended.values_list(*fields, "cost")), columns=list(COLUMNS))
    table["usd"] = table["usd"].astype(float)
    return table


def cost_row(head: Row, calls: pd.DataFrame) -> Row:
    done = calls[calls["status"] == Status.DONE]
    usd = float(calls["usd"].sum())
    return {
        **head,
        "completions": len(done),
        "failed": len(calls) - len(done),
        **{name: total(done[name]) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")},
        "usd": usd,
        "usd_per_1000": 1000 * usd / len(done) if len(done) else None,
        "latency_s": waits(done),
    }


def total(tokens: pd.Series) -> int | None:
    """Their sum; None where nobody counted them."""
    return int(tokens.sum()) if tokens.notna().any() else None


def waits(done: pd.DataFrame) -> dict[str, Any]:
    seconds = done["latency_ms"].to_numpy(float) / 1000
    middle, late = percentiles(seconds, WAITS)
    row = {"n": middle.n, "p50": middle.value, "p95": late.value, "ci_p50": ends(middle), "ci_p95": ends(late)}
    return row if middle.n else row | {"why": NOT_TIMED}


def ends(found: Percentile) -> list[float] | None:
    return span(found.ci)
