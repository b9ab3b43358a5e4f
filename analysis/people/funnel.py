"""Chooses the users of a corpus to study by the filters that each must pass, in order, and keeps the funnel as data."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from itertools import groupby
from typing import Any, NamedTuple

from django.db import connection, reset_queries, transaction
from django.db.models import Q, QuerySet

from analysis.models import Conversation, ConversationRepeat, ConversationVerdict, Corpus, CorpusStep, CorpusUser
from analysis.people.steps import ACTOR, NAMES, PeopleError, Show, step_of
from surveys.studies.wording import plural

SPACE = re.compile(r"\s+")
DIGITS = re.compile(r"\d+")


class SettingError(ValueError):
    """An invalid threshold; the message says which one and what it may be."""


def setting(default: Any, words: str, least: float = 0, most: float | None = None) -> Any:
    return field(default=default, metadata={"words": words, "least": least, "most": most})


def language_key(language: str) -> str:
    """The form in which names of languages are compared."""
    return language.strip().casefold()


@dataclass(frozen=True)
class FilterSettings:
    """Thresholds of the funnel; the defaults are those of the paper (docs/people.md)."""

    language: str = setting("English", "the language that conversations must be labelled with")
    unlabelled: bool = setting(False, "count conversations without a language as being in it")
    language_share: float = setting(
        1.0, "share in the language, by a model's verdict, from which a conversation is kept; 1: all of it", 0, 1
    )
    window: int = setting(120, "characters of a window", 20)
    stride: int = setting(60, "characters from one window to the next", 1)
    repeated: int = setting(5, "turns with the same window that make an account scripted, with --coverage", 2)
    coverage: float = setting(0.4, "share of the turns that the window must exceed", 0, 1)
    always: int = setting(8, "turns with the same window that make an account scripted in any case", 2)
    conversations: int = setting(3, "fewest conversations", 1)
    messages: int = setting(15, "user messages that must be exceeded")
    assistant_use: float = setting(0.6, "least mean score of use as an assistant, where a model gave scores", 0, 1)
    without_assistant_use: bool = setting(False, "keep users about whose use as an assistant no model was asked")

    def __post_init__(self) -> None:
        for each in fields(self):
            value, least, most = getattr(self, each.name), each.metadata["least"], each.metadata["most"]
            if isinstance(value, str):
                if not value.strip():
                    raise SettingError(f"{each.name} needs a word.")
            elif not isinstance(value, bool) and not (least <= value and (most is None or value <= most)):
                upto = f"from {least} to {most}" if most is not None else f"at least {least}"
                raise SettingError(f"{each.name.replace('_', ' ')} is {value:g}; it must be {upto}.")


class SeenConversation(NamedTuple):
    """One conversation as the filters see it: what its user wrote, and what models said of it."""

    language: str
    texts: list[str]
    language_verdict: float | None = None
    assistant_use: float | None = None


# --- scripted accounts: the same stretch of text in turn after turn


def normalise(text: str) -> str:
    """Fold compatibility forms, case, white space and numbers, which do not tell one template from another."""
    return SPACE.sub(" ", DIGITS.sub("0", unicodedata.normalize("NFKC", text).casefold())).strip()


def windows(text: str, width: int, stride: int) -> Iterator[str]:
    """Stretches of `width` characters of a normalised text, one every `stride`; none if it is shorter."""
    return (text[start : start + width] for start in range(0, len(text) - width + 1, stride))


class TemplateCounter:
    """Counts of one user's turns by window. Only hashes are kept, so that long histories take little memory."""

    def __init__(self, width: int, stride: int) -> None:
        self.width, self.stride = width, stride
        self.turns = 0
        self._counts: Counter[int] = Counter()

    def add(self, text: str) -> None:
        self.turns += 1
        if len(text) >= self.width:  # normalising shortens almost every text, and lengthens few
            self._counts.update({hash(window) for window in windows(normalise(text), self.width, self.stride)})

    @property
    def most(self) -> int:
        """The number of turns that share the most frequent window."""
        return max(self._counts.values(), default=0)


# --- what is counted, and judged


class Evidence:
    """Counts over one user's conversations; texts are read once and not kept."""

    def __init__(self, settings: FilterSettings) -> None:
        self.settings = settings
        self.conversations = self.messages = 0  # in all
        self.long = 0  # conversations of more than four user messages
        self.labelled = self.kept = self.kept_messages = 0
        self.judged = self.disagree = 0
        self.templates = TemplateCounter(settings.window, settings.stride)
        self.scores: list[float] = []

    def add(self, conversation: SeenConversation) -> None:
        self.conversations += 1
        self.messages += len(conversation.texts)
        self.long += len(conversation.texts) > 4
        if self.is_in_language(conversation):
            self.kept += 1
            self.kept_messages += len(conversation.texts)
            for text in conversation.texts:
                self.templates.add(text)
            if conversation.assistant_use is not None:
                self.scores.append(conversation.assistant_use)

    def is_in_language(self, conversation: SeenConversation) -> bool:
        """Whether the label and, if there is one, a model's verdict say so; counts how often they differ."""
        wanted = language_key(self.settings.language)
        labelled = conversation.language.casefold() == wanted if conversation.language else self.settings.unlabelled
        self.labelled += labelled
        if conversation.language_verdict is None:
            return labelled
        judged = conversation.language_verdict >= self.settings.language_share
        self.judged += 1
        self.disagree += judged is not labelled
        return labelled and judged


def verdict(kept: bool, reason: str, **figures: Any) -> dict[str, Any]:
    return {"kept": kept, "reason": reason, **figures}


def judge_language(seen: Evidence) -> dict[str, Any]:
    figures = {"of": seen.conversations, "labelled": seen.labelled, "in_language": seen.kept}
    if seen.judged:
        figures |= {"asked": seen.judged, "disagree": seen.disagree}
    reason = f"{seen.kept} of {plural(seen.conversations, 'conversation')} in {seen.settings.language}"
    return verdict(seen.kept > 0, reason, **figures)


def judge_templates(seen: Evidence) -> dict[str, Any]:
    most, turns, limits = seen.templates.most, seen.templates.turns, seen.settings
    scripted = most >= limits.always or (most >= limits.repeated and most > limits.coverage * turns)
    reason = f"the same {limits.window} characters in {most} of {plural(turns, 'message')}" if most > 1 else "none"
    return verdict(not scripted, reason, turns=most, of=turns)


def judge_activity(seen: Evidence) -> dict[str, Any]:
    enough = seen.kept >= seen.settings.conversations and seen.kept_messages > seen.settings.messages
    reason = f"{plural(seen.kept, 'conversation')}, {plural(seen.kept_messages, 'user message')}"
    return verdict(enough, reason, conversations=seen.kept, messages=seen.kept_messages)


def judge_assistant_use(seen: Evidence) -> dict[str, Any]:
    if seen.settings.without_assistant_use:
        return verdict(True, "waived", asked=len(seen.scores))
    if not seen.scores:
        return verdict(True, "no model was asked", asked=0)
    mean = sum(seen.scores) / len(seen.scores)
    reason = f"mean score {mean:.2f} of {plural(len(seen.scores), 'conversation')}"
    return verdict(mean >= seen.settings.assistant_use, reason, asked=len(seen.scores), score=mean)


class FilterRule(NamedTuple):
    label: str
    judge: Callable[[Evidence], dict[str, Any]]


FILTERS: dict[str, FilterRule] = {
    "language": FilterRule("Language", judge_language),
    "templates": FilterRule("Scripted templates", judge_templates),
    "activity": FilterRule("Activity", judge_activity),
    "assistant-use": FilterRule("Use as an assistant", judge_assistant_use),
}


def judge(seen: Evidence) -> tuple[dict[str, dict[str, Any]], str]:
    """Each filter's verdict, and the first that fails or empty; stops after one filter if no conversation is left."""
    verdicts: dict[str, dict[str, Any]] = {}
    for name, each in FILTERS.items():
        verdicts[name] = each.judge(seen)
        if not seen.kept:
            break
    failed = next((name for name, said in verdicts.items() if not said["kept"]), "")
    return verdicts, failed


USERS_AT_ONCE = 500
ROWS_AT_ONCE = 200  # of the database; conversations may be long

# The database picks out the user's messages, so that replies, most of the text, never come here. A repeat under
# another id counts again.
CONVERSATIONS = """
SELECT told."user", told.language,
  ARRAY(SELECT m->>'content' FROM jsonb_array_elements(c.messages) m WHERE m->>'role' = 'user'),
  (SELECT value FROM analysis_conversationverdict v WHERE v.conversation_id = c.id AND question = 'language'
    AND v.language = %(language)s),
  (SELECT value FROM analysis_conversationverdict v WHERE v.conversation_id = c.id AND question = 'assistant-use')
FROM (
  SELECT id, "user", language FROM analysis_conversation
  WHERE corpus_id = %(corpus)s AND "user" > %(after)s AND "user" <= %(last)s
  UNION ALL
  SELECT conversation_id, r."user", r.language FROM analysis_conversationrepeat r
  JOIN analysis_conversation o ON o.id = conversation_id AND o.corpus_id = %(corpus)s
  WHERE r."user" > %(after)s AND r."user" <= %(last)s
) told JOIN analysis_conversation c ON c.id = told.id
ORDER BY told."user", c.id
"""
USERS = """
SELECT "user" FROM (
  SELECT "user" FROM analysis_conversation WHERE corpus_id = %(corpus)s AND "user" > %(after)s
  UNION
  SELECT r."user" FROM analysis_conversationrepeat r
  JOIN analysis_conversation o ON o.id = conversation_id AND o.corpus_id = %(corpus)s WHERE r."user" > %(after)s
) found ORDER BY "user" LIMIT %(number)s
"""


def keep_verdicts(question: str, rows: Iterable[tuple[int, str, float]], source: str) -> int:
    """Store a model's verdicts on conversations, the last on each, and return how many.

    A row is a conversation's id, the language asked about or empty, and a value from 0 to 1.
    """
    last = {(number, language_key(language)): value for number, language, value in rows}
    ConversationVerdict.objects.bulk_create(
        [
            ConversationVerdict(
                conversation_id=number, question=question, language=language, value=value, source=source[:200]
            )
            for (number, language), value in last.items()
        ],
        update_conflicts=True,
        unique_fields=["conversation", "question", "language"],
        update_fields=["value", "source"],
    )
    return len(last)


def filter_users(
    corpus: Corpus, settings: FilterSettings, show: Show = lambda share, number: None, actor: str = ACTOR
) -> dict[str, Any]:
    """Judge every user of the corpus by the filters, store the verdicts, and return the report.

    Memory grows neither with the users nor with their conversations. Raises PeopleError.
    """
    repeats = ConversationRepeat.objects.filter(conversation__corpus=corpus).exclude(user="").order_by()
    keys = corpus.conversations.exclude(user="").order_by().values("user").union(repeats.values("user"))
    total = keys.count()
    if not total:
        raise PeopleError(_nobody(corpus))
    with step_of(corpus, NAMES.FILTER, asdict(settings), actor) as step:
        take_sample_back(corpus)
        remove_gone(corpus)
        counts: Counter[str] = Counter()
        for users in _batches(corpus):
            rows = [_judged(corpus, key, seen, counts) for key, seen in read_histories(corpus, users, settings)]
            _store(rows)
            reset_queries()  # Django keeps their text when DEBUG is on
            counts["users"] += len(rows)
            step.show(counts["users"] / total)
            show(counts["users"] / total, counts["users"])
        step.report = _report(corpus, counts)
    return step.report


def _nobody(corpus: Corpus) -> str:
    number = corpus.conversations.count()
    why = f"none of its {number:,} conversations names its user" if number else "it has no conversations"
    return f"{corpus.name} has no users: {why}. Import conversations that do, such as WildChat's with hashed_ip."


def take_sample_back(corpus: Corpus) -> None:
    corpus.users.filter(band__isnull=False).update(place=None, band=None, generalist=None)


def remove_gone(corpus: Corpus) -> None:
    """Delete users who have neither conversations, repeats of others' included, nor attributes left."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM analysis_corpususer u WHERE corpus_id = %s AND NOT EXISTS (SELECT FROM analysis_conversation c"
            ' WHERE c.corpus_id = u.corpus_id AND c."user" = u.key)'
            " AND NOT EXISTS (SELECT FROM analysis_conversationrepeat r JOIN analysis_conversation c"
            ' ON c.id = r.conversation_id WHERE c.corpus_id = u.corpus_id AND r."user" = u.key)'
            " AND NOT EXISTS (SELECT FROM analysis_attribute a WHERE a.user_id = u.id)",
            [corpus.pk],
        )


def _batches(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Yield ranges of users by key: the key after which a range begins, and its last key."""
    after = ""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(USERS, {"corpus": corpus.pk, "after": after, "number": USERS_AT_ONCE})
            if not (found := cursor.fetchall()):
                return
            yield after, found[-1][0]
            after = found[-1][0]


def read_histories(corpus: Corpus, users: tuple[str, str], settings: FilterSettings) -> Iterator[tuple[str, Evidence]]:
    """Yield each user of a range with the counts for the filters, reading one conversation at a time."""
    with transaction.atomic(), closing(connection.chunked_cursor()) as cursor:
        cursor.itersize = ROWS_AT_ONCE
        language = language_key(settings.language)
        cursor.execute(CONVERSATIONS, {"corpus": corpus.pk, "after": users[0], "last": users[1], "language": language})
        for key, rows in groupby(cursor, key=lambda row: row[0]):
            seen = Evidence(settings)
            for _, *fields in rows:
                seen.add(SeenConversation(*fields))
            yield key, seen


def _judged(corpus: Corpus, key: str, seen: Evidence, counts: Counter[str]) -> CorpusUser:
    verdicts, failed = judge(seen)
    counts.update({"user_messages": seen.messages, "conversations": seen.conversations, "long": seen.long})
    counts[failed or "kept"] += 1
    if not failed:
        counts.update({"kept_messages": seen.kept_messages, "kept_conversations": seen.kept})
    counts.update({"asked": seen.judged, "disagree": seen.disagree, "scored": len(seen.scores)})
    return CorpusUser(
        corpus=corpus,
        key=key,
        conversations=seen.conversations,
        messages=seen.messages,
        verdicts=verdicts,
        left_out_by=failed,
    )


def _store(rows: list[CorpusUser]) -> None:
    CorpusUser.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["corpus", "key"],
        update_fields=["conversations", "messages", "verdicts", "left_out_by"],
    )


def _report(corpus: Corpus, counts: Counter[str]) -> dict[str, Any]:
    left, steps = counts["users"], []
    for name in FILTERS:
        left -= counts[name]
        steps.append({"name": name, "left_out": counts[name], "left": left})
    return {
        "corpus": corpus.name,
        "users": counts["users"],
        "steps": steps,
        "kept": counts["kept"],
        "user_messages": counts["user_messages"],
        "conversations": counts["conversations"],
        "long_conversations": counts["long"],
        "kept_user_messages": counts["kept_messages"],
        "kept_conversations": counts["kept_conversations"],
        "without_user": corpus.conversations.filter(user="").count(),
        "language_asked": counts["asked"],
        "language_disagree": counts["disagree"],
        "assistant_use_asked": counts["scored"],
    }


# --- which conversations a model is asked about ------------------------------


def conversations_to_ask(corpus: Corpus, task: str) -> QuerySet[Conversation]:
    """The conversations that a model is asked about in this task.

    `language`: every user's that are labelled as in it; others can't pass. `assistant-use`: those in the language, of
    users whom no earlier filter left out. `extract`: those in the language, of users who passed all filters. Raises
    PeopleError if filtering did not finish, or for `extract` if use as an assistant must be asked about first.
    """
    if task == ConversationVerdict.Question.LANGUAGE:
        return corpus.conversations.exclude(user="").filter(labelled_in(latest_settings(corpus)))
    if task == NAMES.EXTRACT and (why := say_use_not_asked(corpus)):
        commands = f"people {corpus.name} ask assistant-use, or filter --without-assistant-use"
        raise PeopleError(f"{why} By command: {commands}.")
    aside = [CorpusUser.Filter.ASSISTANT_USE] if task == ConversationVerdict.Question.ASSISTANT_USE else []
    users = corpus.users.filter(left_out_by__in=["", *aside])
    return _in_language(corpus, _conversations_of(corpus, users))


def settings_of_filter(corpus: Corpus) -> FilterSettings:
    """The settings of the last filter. Raises PeopleError if users were not filtered to the end."""
    row = corpus.steps.filter(name=NAMES.FILTER, state=CorpusStep.State.DONE).first()
    if row is None:
        filters = f"Corpora → {corpus.name} → Filter, or manage.py people {corpus.name} filter"
        raise PeopleError(f"The users of {corpus.name} were not filtered to the end. Filter them: {filters}.")
    return FilterSettings(**row.settings)


def latest_settings(corpus: Corpus) -> FilterSettings:
    """The settings of the last filter; the defaults before the first. Raises PeopleError if the last did not finish."""
    return settings_of_filter(corpus) if corpus.steps.filter(name=NAMES.FILTER).exists() else FilterSettings()


def say_use_not_asked(corpus: Corpus) -> str:
    """Say what must be asked or waived before anything is concluded about the kept users; empty if nothing must."""
    kept = corpus.users.filter(left_out_by="", conversations__gt=0)
    if settings_of_filter(corpus).without_assistant_use or not kept.exists():
        return ""
    unasked, total = kept.filter(**{"verdicts__assistant-use__asked": 0}).count(), kept.count()
    if not unasked:
        return ""
    whom = f"{'the' if unasked == total else f'{unasked:,} of the'} {plural(total, 'kept user')}"
    return (
        f"No model has been asked whether {whom} {'uses' if unasked == 1 else 'use'} the assistant as a person would. "
        "Ask about use, then filter again; or filter with “Without assistant use”."
    )


def labelled_in(settings: FilterSettings) -> Q:
    return Q(language__iexact=settings.language.strip()) | (Q(language="") if settings.unlabelled else Q())


def _conversations_of(corpus: Corpus, users: QuerySet[CorpusUser]) -> QuerySet[Conversation]:
    """The users' conversations, including repeats of somebody else's, each once."""
    keys = users.values("key")
    repeats = ConversationRepeat.objects.filter(conversation__corpus=corpus, user__in=keys)
    return corpus.conversations.filter(Q(user__in=keys) | Q(pk__in=repeats.values("conversation")))


def _in_language(corpus: Corpus, rows: QuerySet[Conversation]) -> QuerySet[Conversation]:
    settings = settings_of_filter(corpus)
    asked = Q(verdicts__question="language", verdicts__language=language_key(settings.language))
    other = asked & Q(verdicts__value__lt=settings.language_share)
    return rows.filter(labelled_in(settings)).exclude(pk__in=corpus.conversations.filter(other).values("pk"))
