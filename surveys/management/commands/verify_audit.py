"""Verify the chains of decisions, also against what an export or a bundle recorded of them."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from surveys.models import Study
from surveys.studies import audit
from surveys.studies.imports.actions import Action, Options, Report, arg, find_study
from surveys.studies.wording import fill


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
    faults = (audit.ManifestError,)

    def run(self, options: Options) -> Report:
        kept = audit.read_manifest(options["against"]) if options["against"] else {}
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
        last = fill("{events:event} of {count:study,studies}, {head}", count=len(report["studies"]), **report)
        return "\n".join([*map(in_words, report["studies"]), last])

    def failure(self, report: Report) -> str:
        if report["holds"]:
            return ""
        if "studies" not in report:
            return f"The chain of {report['study']} does not hold in {len(report['breaks'])} place(s)."
        return f"The chain does not hold of {', '.join(one['study'] for one in report['studies'] if one['breaks'])}."


def verify(study: Study, kept: dict[str, Any] | None = None) -> dict[str, Any]:
    head, events = audit.head_of(study)["head"], study.audit_events.count()
    breaks = list(audit.find_breaks(study))
    if kept and (sentence := audit.misfit(study, kept)):
        breaks.append(sentence)
    return {"study": study.slug, "events": events, "head": head, "holds": not breaks, "breaks": breaks}


def in_words(found: dict[str, Any]) -> str:
    if found["breaks"]:
        return "\n".join(f"{found['study']}: {sentence}" for sentence in found["breaks"])
    return fill("The chain of {study} holds: {events:event}, the newest with hash {head}.", **found)
