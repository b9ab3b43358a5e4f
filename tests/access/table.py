"""Every address of the console and the API: who may do what there, and which parts of it name an owned object."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, get_resolver

BLINDED, VIEWER, RESEARCHER, OWNER, MAKER = "blinded", "viewer", "researcher", "owner", "maker"


class Row(NamedTuple):
    """The least role that may use each method, the ids in the address by parameter, and its other parts."""

    may: dict[str, str]
    ids: dict[str, str] = {}  # noqa: RUF012
    rest: dict[str, Any] = {}  # noqa: RUF012
    labelled: bool = False  # a page of studies of annotators
    query: str = ""


def reads(role: str = VIEWER, **given: Any) -> Row:
    return Row({"GET": role}, **given)


def posts(role: str = RESEARCHER, **given: Any) -> Row:
    return Row({"POST": role}, **given)


def both(role: str = RESEARCHER, **given: Any) -> Row:
    return Row({"GET": role, "POST": role}, **given)


CORPUS, NAMED = {"ids": {"corpus": "corpus"}}, {"ids": {"name": "corpus"}}
SET, MODEL, PERSON = {"ids": {"name": "personas"}}, {"ids": {"name": "model"}}, {"ids": {"pseudonym": "pseudonym"}}
RUN, CALL = {"ids": {"number": "run"}}, {"ids": {"number": "run", "call": "call"}}
SVG, CSV = {"kind": "svg"}, {"kind": "csv"}

TABLE: dict[str, Row] = {
    # console
    "console:study": reads(BLINDED),
    "console:setup": reads(BLINDED),
    "console:preview": posts(),
    "console:new-version": both(),
    "editor:study": reads(RESEARCHER),
    "console:version": reads(BLINDED, rest={"number": 1}),
    "console:version-document": reads(BLINDED, rest={"number": 1}),
    "console:change-state": both(rest={"name": "pause"}),
    "console:rename": posts(OWNER),
    "console:delete": both(OWNER),
    "console:members": reads(BLINDED),
    "console:add-member": posts(OWNER),
    "console:change-member": posts(OWNER, ids={"number": "member"}),
    "console:monitor": reads(BLINDED),
    "console:monitor-part": reads(BLINDED),
    "console:participants": reads(BLINDED),
    "console:participant": reads(**PERSON),
    "console:call-returned": posts(**PERSON),
    "console:response-text": reads(ids={"pseudonym": "pseudonym", "number": "response"}),
    "console:flow": reads(BLINDED),
    "console:flow-svg": reads(BLINDED),
    "console:flow-json": reads(BLINDED),
    "console:audit": reads(BLINDED),
    "console:write-note": posts(ids={"key": "person"}, rest={"kind": "participant"}),
    "console:change-note": posts(MAKER, ids={"number": "note"}),
    "notices:page": both(OWNER),
    "simulation:page": both(OWNER),
    "simulation:progress": reads(OWNER),
    # paying
    **{f"paying:{name}": reads(RESEARCHER) for name in ("board", "ledger", "set-up")},
    **{
        f"paying:{name}": posts() for name in ("read", "decide", "top-up", "bonus", "make", "update", "groups", "write")
    },
    "paying:publish": both(),
    "paying:second": both(ids={"number": "asked to pay"}),
    # comparing, exporting
    **{f"compare:{name}": reads() for name in ("bundle", "prepare-bundle", "bundle-progress", "overview")},
    **{f"plans:{name}": reads() for name in ("plan", "progress", "osf", "aspredicted", "registration")},
    "plans:simulate": posts(),
    "compare:questions": reads(),
    "compare:take-look": posts(),
    "compare:multiverse": reads(),
    "compare:multiverse-compute": posts(),
    "compare:multiverse-progress": reads(),
    "compare:multiverse-document": reads(),
    "compare:multiverse-curve": reads(rest={"number": 1}),
    "compare:multiverse-figure": reads(rest={"number": 1} | CSV),
    "compare:texts": reads(query="?prompt=teas&source=field&model=chatgpt"),
    "compare:page": reads(rest={"name": "items"}),
    "compare:computing": reads(rest={"name": "items"}),
    "compare:figure-part": reads(rest={"name": "items"}),
    "compare:figure": reads(rest={"name": "items"} | CSV),
    **{f"export:{name}": reads() for name in ("page", "everything", "progress")},
    "export:notebook": reads(),
    "export:fieldstudy_client": reads(),
    "export:codebook": reads(rest={"kind": "json"}),
    "export:download": reads(rest={"table": "responses"} | CSV),
    # people
    "sharing:share": posts(MAKER, ids={"name": "corpus"}, rest={"kind": "corpus"}),
    "people:items": reads(RESEARCHER, labelled=True),
    "people:push": posts(rest={"name": "people"}, labelled=True),
    "people:corpora": both(),
    "people:new-upload": posts(),
    "people:upload": posts(MAKER, ids={"number": "upload"}, query="?end"),
    "people:corpus": reads(RESEARCHER, **NAMED),
    "people:conversations": reads(RESEARCHER, **NAMED),
    "people:corpus-origin": posts(MAKER, **NAMED),
    "people:progress": reads(RESEARCHER, **NAMED),
    "people:figure": reads(RESEARCHER, **NAMED, rest=SVG),
    "people:start": posts(**NAMED, rest={"step": "sample"}),
    "people:person": reads(RESEARCHER, ids={"name": "corpus", "number": "user"}),
    "people:personas": both(),
    "people:persona-set": reads(RESEARCHER, **SET),
    "people:set-origin": posts(MAKER, **SET),
    # models
    "training:models": Row({"GET": RESEARCHER, "POST": OWNER}),
    "training:model": reads(RESEARCHER, **MODEL),
    "training:progress": reads(RESEARCHER, **MODEL),
    "training:stop": posts(MAKER, **MODEL),
    "training:resume": posts(MAKER, **MODEL),
    # runs
    "baselines:ask": both(**CORPUS, rest={"task": "extract"}),
    "baselines:ask-plan": reads(RESEARCHER, **CORPUS, rest={"task": "extract"}),
    "baselines:runs": reads(),
    "baselines:runs-part": reads(),
    "baselines:compare": reads(),
    "baselines:new-run": both(),
    "baselines:estimate": reads(RESEARCHER),
    "baselines:endpoints": reads(),
    "baselines:new-endpoint": both(OWNER),
    "baselines:endpoint": both(OWNER, ids={"name": "endpoint"}),
    "baselines:try-endpoint": posts(ids={"name": "endpoint"}),
    "baselines:run": reads(**RUN),
    "baselines:run-part": reads(**RUN),
    "baselines:calls-part": reads(**RUN),
    "baselines:completion": reads(**CALL),
    "baselines:completion-messages": reads(**CALL),
    "baselines:change-run": Row({"GET": RESEARCHER, "POST": RESEARCHER}, RUN["ids"], {"action": "cancel"}),
    # answers, agreement
    **{f"answers:{name}": reads() for name in ("list", "standing", "accuracy", "changes", "review", "spellings")},
    **{f"answers:{name}": posts() for name in ("read", "undo", "decide-spellings", "undo-spellings")},
    "answers:answer": reads(ids={"key": "answer"}),
    "answers:decide": posts(ids={"key": "answer"}),
    **{f"agreement:{name}": reads(labelled=True) for name in ("overview", "numbers", "groups", "bundle", "gate")},
    "agreement:figure": reads(rest={"name": "matrix", "kind": "json"}, labelled=True),
    "papers:paper": reads(labelled=True),
    "papers:figure": reads(rest={"name": "figure-3", "kind": "csv"}, labelled=True),
    "agreement:differing": reads(query="?question=relevance&a=mini", labelled=True),
    "agreement:item": reads(ids={"key": "item"}, labelled=True),
    "agreement:decide": posts(labelled=True),
    "agreement:invited": posts(OWNER, labelled=True),
    # API
    **{f"api:{name}": reads() for name in ("study", "participants", "responses", "everything", "metrics")},
    "api:completions": reads(),
    "api:export": reads(rest={"table": "responses"} | CSV),
    "api:figure": reads(rest={"name": "items"}),
    **{f"api:{name}": reads(labelled=True) for name in ("annotations", "agreement")},
    "api:push": posts(rest={"name": "people"}, labelled=True),
    "api:corpora": reads(RESEARCHER),
    "api:corpus": reads(RESEARCHER, **CORPUS),
    "api:corpus-users": reads(RESEARCHER, **CORPUS),
    "api:attributes": reads(RESEARCHER, **CORPUS),
    "api:corpus-runs": reads(RESEARCHER, **CORPUS),
    "api:change-corpus-run": posts(ids={"corpus": "corpus", "number": "asked"}, rest={"action": "cancel"}),
    "api:ask-corpus": posts(**CORPUS, rest={"task": "extract"}),
    "api:people-step": posts(**CORPUS, rest={"step": "sample"}),
    "api:runs": Row({"GET": VIEWER, "POST": RESEARCHER}),
    "api:run": reads(**RUN),
    **{f"api:{action}-run": posts(**RUN) for action in ("pause", "resume", "cancel", "retry", "note")},
}
# At the same addresses: pilot people, what only owners may do, runs without a study and a study's own model.
MORE: list[tuple[str, Row]] = [
    ("console:participant", reads(BLINDED, ids={"pseudonym": "piloting"})),
    ("console:response-text", reads(BLINDED, ids={"pseudonym": "piloting", "number": "pilot response"})),
    ("console:change-state", both(OWNER, rest={"name": "unblind"})),
    *((f"baselines:{name}", reads(RESEARCHER, ids={"number": "asked"})) for name in ("run", "run-part", "calls-part")),
    ("baselines:completion", reads(RESEARCHER, ids={"number": "asked", "call": "asking"})),
    ("baselines:completion-messages", reads(RESEARCHER, ids={"number": "asked", "call": "asking"})),
    ("baselines:change-run", posts(ids={"number": "asked"}, rest={"action": "resume"})),
    *((f"baselines:{name}", reads(ids={"number": "bench"})) for name in ("run", "run-part", "calls-part")),
    *(
        (f"baselines:{name}", reads(ids={"number": "bench", "call": "benched"}))
        for name in ("completion", "completion-messages")
    ),
    *((f"training:{name}", posts(ids={"name": "own_model"})) for name in ("stop", "resume")),
    *(
        ("sharing:share", posts(MAKER, ids={"name": thing}, rest={"kind": kind}))
        for kind, thing in (("personas", "personas"), ("model", "model"), ("run", "asked"), ("run", "bench"))
    ),
]
# For every account, or for everybody; they name no study.
ACCOUNT = {
    *("console:studies", "console:account", "console:new-study", "console:invitations", "editor:start"),
    *("export:token", "api:studies"),
}
# Of somebody's own working copy, which nobody else finds (tests/surveys/console/editor/test_editor_pages.py).
OWN = {f"editor:{name}" for name in ("first", "edit", "standing", "text", "download", "make", "drop", "seen")}
OPEN = {"console:login", "console:logout", "console:accept", "api:schema", "api:docs"}
# Without a name: the way to the console, the administrators' door, health, webhooks, what no address of the API is.
NAMELESS = {"", "admin/login/", "healthz", "healthz/", "api/v1/prolific/webhook/", r"api/v1/^[\s\S]*$"}
SIGNED = ("survey", "annotation")  # the addresses of people carry a link that we signed


def addresses() -> Iterator[tuple[str, str, str]]:
    """Namespace, name and pattern of every address of the site, including those imported late."""
    yield from below(get_resolver().url_patterns, "", "")


def below(patterns: Any, space: str, before: str) -> Iterator[tuple[str, str, str]]:
    for entry in patterns:
        here = before + str(entry.pattern)
        if isinstance(entry, URLPattern):
            yield space, entry.name or "", here
        else:
            yield from below(entry.url_patterns, entry.namespace or space, here)
