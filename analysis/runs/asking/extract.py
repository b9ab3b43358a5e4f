"""What a conversation says or shows about its user: attributes with reasoning, confidence and quotes."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection

from analysis.corpora.records import Message
from analysis.models import Completion, ConversationRepeat, Corpus, Run, Task
from analysis.people.attributes import Kept, NewAttribute, attribute_faults, keep_attributes
from analysis.runs.asking.kinds import NewTask, TaskKind, ask, closed, listed, number, read_share, text
from analysis.runs.asking.objects import NoObject, Object, TaskFault, fitting, objects_in, read_object, without_thoughts
from analysis.runs.asking.transcripts import before_material, cut, read_conversations, transcript_of

INSTRUCTION = """
Below is a conversation of a person, the user, with a chatbot, the assistant. List what it says or shows about the user
that would still hold in another conversation: interests, preferences, work, knowledge, situation, values, and how the
user likes to be answered.

- Write each attribute as one sentence about the user that can be understood without the conversation.
- Rest on what the user wrote. What the assistant says, a task is about, or a story tells is not about the user.
- Take one request for one request: to ask for a translation once does not make somebody a learner of that language.
- Quote the user's own words as evidence, exactly as they stand there, in their own language, one to three quotes.
- Say how sure you are, from 0 (a guess) to 1 (said in so many words).
- Leave the list empty where nothing is said or shown.
"""
SCHEMA = closed(
    attributes=listed(
        closed(
            reasoning=text("why this can be concluded"),
            attribute=text("one sentence about the user"),
            confidence=number("from 0 to 1"),
            evidence=listed(text("a quote of the user")),
        )
    )
)
LONGEST_REASONING = 2_000
LONGEST_ENTRY = 300  # characters kept of an entry that is no attribute, beside the whole reply


def tasks(corpus: Corpus, most: int) -> Iterator[NewTask]:
    """Every chunk of what the kept users wrote and were replied, in the language of the filter."""
    for row in read_conversations(corpus, "extract"):
        spans = list(cut(row.messages, most))
        for place, span in enumerate(spans, 1):
            yield NewTask(f"{row.sha256} {place}/{len(spans)}", {"span": list(span)}, row)


def write(task: Task, instruction: str = INSTRUCTION) -> list[Message]:
    return ask(before_material(instruction), transcript_of(task), SCHEMA)


def read(reply: str, task: Task) -> dict[str, Any]:
    """`attributes`, what is none of them with the reason (`refused`), and whether the reply was broken off (`cut`).

    What is whole in a reply that was broken off counts.
    """
    loose = list(fitting(objects_in(without_thoughts(reply)), ["attribute"]))
    try:
        entries = read_object(reply, "attributes", read=list_in)["attributes"]
    except NoObject:
        if not loose:
            raise
        entries, is_cut = loose, True
    else:
        is_cut = False
    values: dict[str, Any] = {"attributes": [], "refused": [], "cut": is_cut}
    for entry in entries:
        try:
            values["attributes"].append(read_attribute(entry))
        except TaskFault as fault:
            values["refused"].append({"why": str(fault), "entry": str(entry)[:LONGEST_ENTRY]})
    return values


def list_in(said: Object) -> Object:
    if not isinstance(said["attributes"], list):
        raise NoObject("The reply is no JSON with attributes that are a list.")
    return {"attributes": said["attributes"]}


def read_attribute(entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict) or not isinstance(entry.get("attribute"), str):
        raise TaskFault("An entry of the list is no attribute.")
    evidence = entry.get("evidence") or []
    quotes = [quote for quote in (evidence if isinstance(evidence, list) else [evidence]) if quote != ""]
    confidence = entry.get("confidence")
    if confidence is not None:
        confidence = read_share(confidence, "confidence")
    if fault := next(attribute_faults(entry["attribute"].strip(), confidence, quotes), ""):
        raise TaskFault(f"{fault}.")
    return {
        "text": entry["attribute"].strip(),
        "confidence": confidence,
        "reasoning": str(entry.get("reasoning") or "")[:LONGEST_REASONING],
        "evidence": quotes,
    }


def keep(run: Run, calls: Sequence[Completion]) -> Kept:
    """As attributes of whoever had the conversation, somebody who had it in the same words too."""
    read_tasks = [call.task for call in calls]
    others: dict[int, list[str]] = {}
    repeats = ConversationRepeat.objects.filter(conversation__in=[task.conversation_id for task in read_tasks])
    for conversation, user in repeats.values_list("conversation", "user"):
        others.setdefault(conversation, []).append(user)
    source = generator_of(run)
    return keep_attributes(
        run.corpus,
        (
            NewAttribute(user, conversation=task.conversation.sha256, generator=source, **entry)
            for task in read_tasks
            for user in {task.conversation.user, *others.get(task.conversation_id, ())} - {""}
            for entry in task.values["attributes"]
        ),
    )


def generator_of(run: Run) -> str:
    """The model and the version of the instruction; scripted ones say so."""
    made_up = " (simulated)" if run.endpoint.provider == run.endpoint.Provider.FAKE else ""
    return f"{run.endpoint.model[:150]} {run.instruction}{made_up}"


# Of the attributes that a model gave in this form, in all runs about the corpus.
COUNT = """
SELECT count(*), count(DISTINCT user_id), count(*) FILTER (WHERE a.left_out_by = 'confidence'),
  count(*) FILTER (WHERE jsonb_array_length(sensitive) > 0), coalesce(sum(jsonb_array_length(evidence)), 0),
  coalesce(sum((SELECT count(*) FROM jsonb_array_elements(evidence) q WHERE q->>'message' IS NULL)), 0)
FROM analysis_attribute a JOIN analysis_corpususer u ON u.id = a.user_id WHERE u.corpus_id = %s AND generator = %s
"""
COUNTED = ("attributes", "users", "low_confidence", "sensitive", "quotes", "unlocated")
REFUSED = """
SELECT entry->>'why', count(*) OVER () FROM analysis_task, jsonb_array_elements("values"->'refused') entry
WHERE run_id = %s ORDER BY id LIMIT 5
"""


def count(run: Run) -> dict[str, Any]:
    """What is kept of this model's replies about the corpus, and what of this run's entries was no attribute."""
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [run.corpus_id, generator_of(run)])
        found = {name: int(value) for name, value in zip(COUNTED, cursor.fetchone(), strict=True)}
        cursor.execute(REFUSED, [run.pk])
        refused = cursor.fetchall()
    broken = run.tasks.filter(values__cut=True).count()
    return found | {
        "generator": generator_of(run),
        "refused": refused[0][1] if refused else 0,
        "refused_examples": [why for why, _ in refused],
        "cut": broken,
    }


EXTRACT = TaskKind(
    "extract", 1, write, read, SCHEMA, keep, tasks, count, temperature=0.8, most_tokens=4_096, usual_tokens=600
)
