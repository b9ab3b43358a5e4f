"""The replication bundle: everything that a study's figures rest on, in one zip file that needs no platform."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.utils import timezone

from analysis.answers.readings import read_new
from analysis.exports.exports import note_export, open_study, write_whole
from analysis.exports.formats import Chunks, read_back
from analysis.report.bundle.contents import list_files
from analysis.report.reports import Progress, check_definition, report
from surveys.models import Study

FORMAT = 1
MANIFEST = "MANIFEST.json"


@dataclass
class Bundle:
    """A bundle that was allowed and noted. `texts` adds what was pasted and replied, to the letter."""

    study: Study
    texts: bool = False
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def filename(self) -> str:
        return f"{self.study.slug}-bundle.zip"

    def chunks(self, progress: Progress | None = None) -> Chunks:
        """The zip file, piece by piece. New answers are read first."""
        read_new(self.study)
        found = report(self.study, progress=progress)
        with TemporaryFile() as file:
            self.write(file, found)
            yield from read_back(file)

    def write(self, file: IO[bytes], found: dict[str, Any]) -> None:
        self.files = []
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, chunks in list_files(self.study, found, self.texts):
                self.files.append(add(archive, name, chunks))
            manifest = {"format": FORMAT, "study": self.study.slug, "files": self.files}
            add(archive, MANIFEST, iter([json.dumps(manifest, indent=2).encode()]))


def open_bundle(user: AbstractBaseUser | AnonymousUser, slug: str, texts: bool = False) -> Bundle:
    """The bundle, if this account may see the study; else 404. The exports give the same rows to the same people."""
    return begin_bundle(open_study(user, slug), user.get_username(), texts)


def begin_bundle(study: Study, actor: str, texts: bool = False) -> Bundle:
    """ReportError, and nothing noted, when the study has nothing to report on."""
    check_definition(study)
    note_export(study, actor, "bundle.zip", texts=texts, simulated=True)
    return Bundle(Study.objects.select_related("current").get(pk=study.pk), texts)


def write_bundle(bundle: Bundle, path: Path, progress: Progress | None = None) -> None:
    """The file stands there under its name only when it is whole."""
    write_whole(path, bundle.chunks(progress))


def add(archive: zipfile.ZipFile, name: str, chunks: Iterator[bytes]) -> dict[str, Any]:
    """Write one file of the archive; returns its line of the manifest."""
    digest, size = hashlib.sha256(), 0
    entry = zipfile.ZipInfo(name, timezone.now().timetuple()[:6])
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    with archive.open(entry, "w", force_zip64=True) as file:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
            file.write(chunk)
    return {"name": name, "bytes": size, "sha256": digest.hexdigest()}
