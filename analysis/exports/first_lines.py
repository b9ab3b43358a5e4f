"""Code to begin with each table, in pandas and R: a few lines that read its file and look at it."""

from dataclasses import dataclass

PANDAS = 'import pandas as pd\n\n{table} = pd.read_parquet("{table}.parquet")\n'
R = '{table} <- read.csv("{table}.csv", na.strings = "", encoding = "UTF-8")\n'


@dataclass(frozen=True)
class FirstLines:
    """Code that follows the line that reads the file."""

    pandas: str
    r: str


def cross(table: str, one: str, other: str) -> FirstLines:
    """Cross-tabulate two columns."""
    return FirstLines(
        f'print(pd.crosstab({table}["{one}"], {table}["{other}"]))', f"print(table({table}${one}, {table}${other}))"
    )


def by(table: str, group: str, value: str, what: str = "mean") -> FirstLines:
    """Take the mean, median or sum by group."""
    return FirstLines(
        f'print({table}.groupby("{group}")["{value}"].{what}())',
        f"print(tapply({table}${value}, {table}${group}, {what}, na.rm = TRUE))",
    )


LINES = {
    "responses": FirstLines(
        'first = (responses["occasion"] == 1) & (responses["arm"] == "")\n'
        'done = responses[first & (responses["state"] == "completed")]\n'
        'print(done.groupby(["prompt", "chatbot"])["characters"].describe())',
        "first <- responses$occasion == 1 & is.na(responses$arm)\n"
        'done <- responses[first & responses$state == "completed", ]\n'
        "print(tapply(done$characters, list(done$prompt, done$chatbot), median))",
    ),
    "revisions": by("revisions", "prompt", "accepted"),
    "flags": cross("flags", "check", "outcome"),
    "context": cross("context", "product", "memory"),
    "timings": by("timings", "prompt", "seconds", "median"),
    "participants": FirstLines(
        'print(pd.crosstab(participants["cell"], participants["state"]))\nprint(participants["seconds"].median() / 60)',
        "print(table(participants$cell, participants$state))\nprint(median(participants$seconds, na.rm = TRUE) / 60)",
    ),
    "notes": FirstLines('print(notes.groupby("author").size())', "print(table(notes$author))"),
    "flow": by("flow", "outcome", "people", "sum"),
    "readings": FirstLines(
        'counted = readings[readings["counted"]]\n'
        'print(counted.groupby(["prompt", "source", "model"]).size())\n'
        'choices = counted[counted["correct"].notna()]\n'
        'print(choices["correct"].astype(float).groupby([choices["prompt"], choices["source"]]).mean())',
        "counted <- readings[readings$counted, ]\n"
        "print(table(counted$prompt, counted$source))\n"
        "choices <- counted[!is.na(counted$correct), ]\n"
        "print(tapply(choices$correct, list(choices$prompt, choices$source), mean))",
    ),
    "mentions": FirstLines(
        'counted = mentions[mentions["counted"]]\n'
        'print(counted.groupby(["prompt", "source", "model"])["item"].nunique())\n'
        'print(counted.groupby(["prompt", "source"])["item"].value_counts().groupby(level=[0, 1]).head(5))',
        "counted <- mentions[mentions$counted, ]\n"
        "print(tapply(counted$item, list(counted$prompt, counted$source), function(x) length(unique(x))))\n"
        "print(head(sort(table(counted$item), decreasing = TRUE), 5))",
    ),
    "read_backs": FirstLines(
        'said = read_backs[read_backs["newest"] & (read_backs["no_answer"] == "")]\n'
        'said = said[said["verdict"] != "unsaid"]\n'
        'print((said["verdict"] == "right").groupby(said["prompt"]).mean())',
        "said <- read_backs[read_backs$newest & is.na(read_backs$no_answer), ]\n"
        'said <- said[said$verdict != "unsaid", ]\n'
        'print(tapply(said$verdict == "right", said$prompt, mean))',
    ),
    "read_back_names": FirstLines(
        'changed = read_back_names[read_back_names["read"] != read_back_names["stands"]]\n'
        'print(changed.groupby(["prompt", "read"])["name"].value_counts())',
        "changed <- read_back_names[read_back_names$read != read_back_names$stands, ]\n"
        "print(table(changed$prompt, changed$read))\nprint(head(changed$name))",
    ),
    "aliases": cross("aliases", "item", "prompt"),
    "alias_decisions": cross("alias_decisions", "prompt", "action"),
    "answer_decisions": cross("answer_decisions", "asked", "is_undo"),
    "prompts": FirstLines(
        'print(prompts[["prompt", "kind", "correct"]])', 'print(prompts[, c("prompt", "kind", "correct")])'
    ),
    "questions": by("questions", "subject", "options"),
    "runs": FirstLines(
        'print(runs[["run", "source", "model", "temperature", "users", "repeats", "usd"]])',
        'print(runs[, c("run", "source", "model", "temperature", "users", "repeats", "usd")])',
    ),
    "completions": FirstLines(
        'print(pd.crosstab(completions["model"], completions["status"]))\n'
        'print(completions.groupby(["source", "model"])[["latency_ms", "usd"]].mean())',
        "print(table(completions$model, completions$status))\n"
        "print(tapply(completions$latency_ms, completions$source, median, na.rm = TRUE))",
    ),
    "items": cross("items", "kind", "purpose"),
    "annotations": FirstLines(
        'counted = annotations[annotations["counted"]]\n'
        'print(pd.crosstab([counted["question"], counted["value"]], counted["is_model"]))',
        "counted <- annotations[annotations$counted, ]\n"
        "print(table(counted$question, counted$value, counted$is_model))",
    ),
    "labels": FirstLines(
        'print(pd.crosstab(labels["question"], labels["majority"].fillna("tie")))',
        'print(table(labels$question, labels$majority, useNA = "ifany"))',
    ),
    "gate": cross("gate", "decision", "kept"),
}


def first_lines(table: str) -> dict[str, str]:
    """Return programs of at most ten lines by language; they read the table's Parquet or CSV file in their folder."""
    lines = LINES[table]
    return {"pandas": PANDAS.format(table=table) + lines.pandas, "r": R.format(table=table) + lines.r}
