"""The texts participants may read, found in the source; `python -m tests.translations` renews the catalogues."""

import ast
import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import django
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.template import engines
from django.templatetags.i18n import BlockTranslateNode, TranslateNode

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fieldstudy.settings")
os.environ.setdefault("DEBUG", "true")
django.setup()  # for `python -m`; in the tests Django is ready and this does nothing

from surveys.annotation.labels import SKIP_REASONS  # noqa: E402
from surveys.models import ReadBack  # noqa: E402
from surveys.prolific.contact import TEMPLATES  # noqa: E402
from surveys.reading.checks import CHECKS  # noqa: E402
from surveys.studies.files.kinds import KINDS  # noqa: E402
from surveys.studies.perception import FIGURES, OWN_QUESTION, UNSEEN_LABEL  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
LOCALE = ROOT / "surveys" / "locale"
SOURCES = (
    *(
        "participation/forms.py",
        "participation/arrival_views.py",
        "participation/views.py",
        "participation/pasting/views.py",
    ),
    *("annotation/views.py", "annotation/pages.py"),
)
GETTEXT = ("gettext", "gettext_lazy", "_")

# A sentence, or the two forms of one with a count.
Message = str | tuple[str, str]


def find_messages() -> dict[Message, list[str]]:
    """Every translatable sentence of the participants' pages, with the files that contain it."""
    found: dict[Message, list[str]] = {}
    for place, message in (*_from_templates(), *_from_code(), *_from_labels()):
        places = found.setdefault(message, [])
        if place not in places:
            places.append(place)
    return found


def _from_templates() -> Iterator[tuple[str, Message]]:
    folder = ROOT / "templates"
    pages = [
        path for area in ("annotation", "participation", "pasting") for path in sorted((folder / area).glob("*.html"))
    ]
    for path in [folder / "base.html", *pages]:
        nodes = engines["django"].get_template(str(path.relative_to(folder))).template.nodelist
        for node in nodes.get_nodes_by_type(TranslateNode):
            # Django looks up such a sentence with its percent signs doubled.
            yield str(path.relative_to(ROOT)), node.filter_expression.var.literal.replace("%", "%%")
        for node in nodes.get_nodes_by_type(BlockTranslateNode):
            singular, plural = (node.render_token_list(tokens)[0] for tokens in (node.singular, node.plural))
            yield str(path.relative_to(ROOT)), (singular, plural) if plural else singular


def _from_code() -> Iterator[tuple[str, Message]]:
    for name in SOURCES:
        for node in ast.walk(ast.parse((ROOT / "surveys" / name).read_text(encoding="utf-8"))):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            if called in GETTEXT and isinstance(node.args[0], ast.Constant):
                yield _named(name), node.args[0].value


def _named(source: str) -> str:
    """The path by its own folder alone: the hash of participants' pages covers it, and a move changes no page."""
    return "/".join(["surveys", *source.split("/")[-2:]])


def _from_labels() -> Iterator[tuple[str, Message]]:
    """Sentences that the code translates through a variable: what the checks say, and the labels of choices."""
    yield from (("surveys/reading/checks.py", check.message) for check in CHECKS.values() if check.message)
    yield from (("surveys/models/responses.py", label) for label in ReadBack.NoAnswer.labels)
    yield from (("surveys/annotation/labels.py", words) for words in SKIP_REASONS.values())
    yield from (("surveys/prolific/contact.py", words) for _, words in TEMPLATES.values())
    figures = (*(label for label, _ in FIGURES.values()), UNSEEN_LABEL, OWN_QUESTION.text, *OWN_QUESTION.options)
    yield from (("surveys/studies/perception.py", words) for words in figures)
    for kind in KINDS.values():
        yield "surveys/studies/files/kinds.py", kind.title
        for question in kind.questions:
            choices = () if question.toggle else question.choices
            texts = [question.text, *(text for choice in choices for text in (choice.label, choice.hint) if text)]
            yield from (("surveys/studies/files/kinds.py", text) for text in texts)


def po_path(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def read_catalogue(language: str) -> Catalog:
    with po_path(language).open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalogue: Catalog) -> bytes:
    target = BytesIO()
    write_mo(target, catalogue)
    return target.getvalue()


def renew(language: str) -> list[str]:
    """Rewrite the catalogue, keeping its translations; return what has no translation yet."""
    catalogue = read_catalogue(language)
    catalogue.header_comment = "# What participants read. Renewed and compiled by `python -m tests.translations`."
    catalogue.project, catalogue.version, catalogue.msgid_bugs_address = "Field Study", "1", ""
    catalogue.last_translator = catalogue.language_team = "Field Study"
    found = find_messages()
    for entry in [entry for entry in catalogue if entry.id and entry.id not in found]:
        catalogue.delete(entry.id)
    for message, places in found.items():
        entry = catalogue.get(singular(message)) or catalogue.add(message)
        entry.locations = [(place, None) for place in places]
    with po_path(language).open("wb") as file:
        write_po(file, catalogue, width=110, sort_by_file=True)
    po_path(language).with_suffix(".mo").write_bytes(compiled(catalogue))
    return untranslated(catalogue)


def singular(message: Message) -> str:
    return message if isinstance(message, str) else message[0]


def untranslated(catalogue: Catalog) -> list[str]:
    return [singular(entry.id) for entry in catalogue if entry.id and not all(entry.string or ("",))]


if __name__ == "__main__":
    for language in sorted(path.name for path in LOCALE.iterdir()):
        missing = renew(language)
        print(f"{language}: {len(missing)} without a translation", *missing, sep="\n  ")
