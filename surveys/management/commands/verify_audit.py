"""Verify the chains of decisions, also against what was written of them into an export or a bundle."""

import zipfile
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError, CommandParser

from surveys.imports.study_command import StudyCommand, find_study
from surveys.models import Study
from surveys.reading.nesting import LONGEST_RECORD, read_json
from surveys.studies import audit


class Command(StudyCommand):
    help = (
        "Checks that no event of a study's audit trail was changed, left out or put in later; of all without a study."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", nargs="?", help="its short name, as in its address; all studies without one")
        parser.add_argument(
            "--against",
            type=Path,
            metavar="FOLDER",
            help=f"an export's or a bundle's folder, zip file or {audit.MANIFEST}: does the chain go on from there?",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, **options: Any) -> None:
        kept = read_manifest(options["against"]) if options["against"] else {}
        if slug := options["study"] or kept.get("study"):
            self.carry_out(find_study(slug), options | {"kept": kept})
        else:
            self.verify_all(options)

    def carry_out(self, study: Study, options: dict[str, Any]) -> None:
        kept = options["kept"]
        if kept and kept["study"] != study.slug:
            raise CommandError(f"{options['against']} is of {kept['study']}, not of {study.slug}.")
        found = verify(study, kept.get("audit"))
        self.tell(options, found, in_words(found))
        if found["breaks"]:
            raise CommandError(f"The chain of {study.slug} does not hold in {len(found['breaks'])} place(s).")

    def verify_all(self, options: dict[str, Any]) -> None:
        all_found = [verify(study) for study in Study.objects.order_by("slug")]
        broken = [found["study"] for found in all_found if found["breaks"]]
        report = {"studies": all_found, "holds": not broken, **audit.head_of_all()}
        lines = [in_words(found) for found in all_found]
        last = "{events} events of {count} studies, {head}".format(count=len(all_found), **report)
        self.tell(options, report, "\n".join([*lines, last]))
        if broken:
            raise CommandError(f"The chain does not hold of {', '.join(broken)}.")


def read_manifest(path: Path) -> dict[str, Any]:
    """What an export or a bundle says of itself. Raises CommandError for what is neither."""
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                manifest = read_manifest_of(archive.open(audit.MANIFEST))
        else:
            manifest = read_manifest_of((path / audit.MANIFEST if path.is_dir() else path).open("rb"))
        stood = manifest["audit"]
        datetime.fromisoformat(stood["at"])
        return {
            "study": str(manifest["study"]),
            "audit": stood | {"events": int(stood["events"]), "head": stood["head"]},
        }
    except OSError as error:
        raise CommandError(f"{error.filename}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise CommandError(f"{path}: no {audit.MANIFEST} that says how the audit trail stood.") from None


def read_manifest_of(file: IO[bytes]) -> Any:
    with file:
        content = file.read(LONGEST_RECORD + 1)
    if len(content) > LONGEST_RECORD:
        raise ValueError(f"it has more than {LONGEST_RECORD:,} bytes")
    return read_json(content.decode())


def verify(study: Study, kept: dict[str, Any] | None = None) -> dict[str, Any]:
    head, events = audit.head_of(study)["head"], study.audit_events.count()
    breaks = list(audit.find_breaks(study))
    if kept and (sentence := audit.misfit(study, kept)):
        breaks.append(sentence)
    return {"study": study.slug, "events": events, "head": head, "holds": not breaks, "breaks": breaks}


def in_words(found: dict[str, Any]) -> str:
    if found["breaks"]:
        return "\n".join(f"{found['study']}: {sentence}" for sentence in found["breaks"])
    return "The chain of {study} holds: {events} events, the newest with hash {head}.".format(**found)
