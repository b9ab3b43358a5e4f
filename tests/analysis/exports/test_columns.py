"""The columns of every table: a contract with everybody who reads the files, so they are written out here."""

from analysis.exports.annotation_tables import annotation_tables
from analysis.exports.answer_tables import answer_tables
from analysis.exports.codebook import ExportTable, Version
from analysis.exports.exports import ANNOTATION_TABLES, TABLES
from analysis.exports.model_tables import model_tables
from analysis.exports.people_tables import people_tables
from analysis.report.bundle.tables import UNIVERSES, own_tables
from surveys.models import Study
from tests.factories import make_definition

# Columns of the study of teas; its own questions and attention checks follow `comments`.
PUBLISHED = {
    "responses": (
        "study version version_sha256 pilot origin participant state chatbot cell prompt occasion arm "
        "previous_prompt kind position language revision text text_sha256 characters personal_removed personal_kept "
        "submitted_at rating unrated unreached"
    ),
    "revisions": (
        "study version version_sha256 pilot origin participant state chatbot cell prompt occasion arm kind "
        "position language revision accepted text text_sha256 characters html html_characters personal_removed "
        "personal_kept shown_at submitted_at rating unrated"
    ),
    "flags": (
        "study version version_sha256 pilot origin participant state chatbot cell prompt occasion arm check "
        "check_version outcome message shown_at decided_at"
    ),
    "context": (
        "study version version_sha256 pilot origin participant state chatbot cell product model_shown plan "
        "memory personalisation chat chat_language device recorded_at"
    ),
    "timings": (
        "study version version_sha256 pilot origin participant state chatbot cell prompt occasion arm position "
        "revisions first_shown_at submitted_at seconds away_seconds client_opened_at client_copied_at client_sent_at "
        "observed pasted typed removed share_pasted edited_after pastes keys pointer presses scrolls untrusted "
        "automated agent page_words"
    ),
    "participants": (
        "study version version_sha256 pilot origin participant state chatbot cell step reason code overflow "
        "language consent_version consent_language consent_sha256 consented_at last_seen_at finished_at seconds "
        "prompt_order order_number responses attention_failed comprehension_tries comments answer_chatbot answer_adult "
        "answer_milk answer_cups attention_leaf attention_leaf_passed attention_sea attention_sea_passed"
    ),
    "flow": "study version version_sha256 pilot origin outcome reason overflow people",
    "notes": "study version participant prompt occasion arm revision text author written_at changed_at",
    "readings": (
        "study version version_sha256 pilot origin answer source model chatbot simulated counted participant run "
        "user user_name repeat prompt occasion arm benchmark benchmark_item kind letter correct items doubt read_by "
        "rules_version flags excluded"
    ),
    "mentions": (
        "study answer source model chatbot simulated counted participant run user user_name repeat prompt "
        "occasion arm place item spelling name"
    ),
    "read_backs": (
        "study version version_sha256 pilot origin participant state chatbot cell prompt occasion arm revision "
        "newest rules_version verdict read_letter letter names_read taken_out added absent no_answer"
    ),
    "read_back_names": "study participant prompt occasion arm revision newest name item read stands in_text",
    "aliases": "study prompt spelling item",
    "alias_decisions": "study number prompt action spellings item undoes decided_at",
    "answer_decisions": "study answer participant run asked letter items is_undo decided_at",
    "prompts": "study prompt kind options correct variant_of variant title wanted text",
    "questions": "study prompt benchmark item subject options correct text",
    "runs": (
        "study run source model benchmark label imported simulated temperature history_size memory_size per_user "
        "corpus personas users repeats seed first_run began_at settings instruction state usd ended_at"
    ),
    "completions": (
        "study run source model simulated user user_name repeat prompt benchmark_item task status text "
        "finish_reason model_served messages_sha256 included prompt_tokens cached_tokens completion_tokens "
        "latency_ms usd error_kind error sent_at done_at"
    ),
    "items": (
        "study item pilot purpose kind source cluster corpus tags payload history_sha256 history_characters "
        "gold explanation position wanted labelled created_at"
    ),
    "annotations": (
        "study version version_sha256 pilot origin participant rater is_model item purpose question part "
        "value shown_value left counted state revision reason guidelines_version opened active_seconds "
        "seen_to_ends quick driven trace shown_at submitted_at detail"
    ),
    "labels": "study item pilot part question source cluster corpus people models votes soft_label majority tie",
    "gate": ("study decision pilot origin participant kept note figures rule thresholds reason decided_by decided_at"),
}
IN_BUNDLES = {
    "answers": (
        "participant chatbot cell memory plan model_shown version origin state prompt language flagged flags excluded "
        "counted rating letter items doubt rules_version decided text"
    ),
    "askings": (
        "participant chatbot cell memory plan model_shown version origin state prompt language flagged flags excluded "
        "counted rating arm occasion unreached letter items doubt rules_version decided text"
    ),
    "completions": (
        "run user repeat prompt item status prompt_tokens cached_tokens completion_tokens latency_ms usd user_name "
        "recipe letter items doubt rules_version decided text"
    ),
    "runs": (
        "run source model benchmark label imported simulated temperature history_size memory_size per_user corpus "
        "personas users repeats seed first_run began_at settings"
    ),
    "prompts": "prompt kind options correct variant_of variant",
    "benchmark_items": "benchmark item answer",
    "aliases": "prompt spelling item",
    "alias_decisions": "number prompt action spellings item undoes decided_at",
    "answer_decisions": "participant run asked letter items is_undo decided_at",
    "multiverse": (
        "hypothesis prompts universe exclusions flagged doubtful spellings reader language temperature pilot people "
        "value low high p n_a n_b same_sign significant simulated"
    ),
}


def names_of(tables: list[ExportTable]) -> dict[str, list[str]]:
    return {table.name: [column.name for column in table.columns] for table in tables}


def written_out(tables: dict[str, str]) -> dict[str, list[str]]:
    return {name: names.split() for name, names in tables.items()}


def test_exports_have_the_columns_that_were_published() -> None:
    version = Version(1, "", "", "", make_definition())
    people = people_tables((version,), imported=[])
    tables = [*people, *answer_tables((version,)), *model_tables(), *annotation_tables()]
    assert names_of(tables) == written_out(PUBLISHED)
    assert [table.name for table in tables] == [*TABLES, *ANNOTATION_TABLES]


def test_bundles_have_the_columns_that_were_published() -> None:
    tables = [*(table for table, _ in own_tables(Study(), texts=True)), UNIVERSES]
    assert names_of(tables) == written_out(IN_BUNDLES)
