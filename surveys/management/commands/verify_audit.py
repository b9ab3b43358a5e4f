"""Verify the chains of decisions, also against what an export or a bundle recorded of them."""

import zipfile
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError

from surveys.models import Study
from surveys.reading.nesting import LONGEST_RECORD, read_json
from surveys.studies import audit
from surveys.studies.imports.actions import Action, Options, Report, arg, find_study


class Command(Action):
    help = (
        "Checks that no event of a study's audit trail was changed, left out or put in later; of all without a study."
    )
    arguments = (
        arg("study", nargs="?", help="the study's short name, as in its address; without it, all studies"),
        arg(
            "--against",
            type=Path,
            metavar="FOLDER",
            help=f"an export's or a bundle's folder, zip file or {audit.MANIFEST}: does the chain go on from there?",
        ),
    )

    def run(self, options: Options) -> Report:
        kept = read_manifest(options["against"]) if options["against"] else {}
        slug = options["study"] or kept.get("study")
        if not slug:
            found = [verify(study) for study in Study.objects.order_by("slug")]
            return {"studies": found, "holds": all(one["holds"] for one in found), **audit.head_of_all()}
        study = find_study(slug)
        if kept and kept["study"] != study.slug:
            raise CommandError(f"{options['against']} is of {kept['study']}, not of {study.slug}.")
        return verify(study, kept.get("audit"))

    def tell(self, report: Report, options: Options) -> str:
        if "studies" not in report:
            return in_words(report)
        last = "{events} events of {count} studies, {head}".format(count=len(report["studies"]), **report)
        return "\n".join([*map(in_words, report["studies"]), last])

    def failure(self, report: Report) -> str:
        if report["holds"]:
            return ""
        if "studies" not in report:
            return f"The chain of {report['study']} does not hold in {len(report['breaks'])} place(s)."
        return f"The chain does not hold of {', '.join(one['study'] for one in report['studies'] if one['breaks'])}."


def read_manifest(path: Path) -> dict[str, Any]:
    """What an export or a bundle says about itself. Raises CommandError if it is neither."""
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
