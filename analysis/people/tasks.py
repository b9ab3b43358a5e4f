"""Background work: steps with the people of a corpus, one at a time."""

from dataclasses import asdict
from typing import Any

from celery import shared_task

from analysis.models import Corpus, CorpusStep, CorpusUpload, Endpoint
from analysis.people.corpora.embeddings import EmbeddingError, endpoint_embedder, local_embedder
from analysis.people.corpora.importing import ImportFailed
from analysis.people.corpora.uploads import forget_stale, import_upload
from analysis.people.funnel import FilterSettings, SettingError, filter_users
from analysis.people.merging import merge_attributes
from analysis.people.pushing import Portion, push_attributes
from analysis.people.sampling import sample_users
from analysis.people.steps import NAMES, PeopleBusy, PeopleError, Whose, note_failure, recheck_order, step_of
from surveys.models import Study
from surveys.studies.imports.files import ImportFault
from surveys.studies.wording import RaisedAs

AGAIN_SECONDS = 60  # before an import tries again whether the step before it is over


@shared_task
def people_step(corpus_id: int, name: str, settings: dict[str, Any], actor: str, whose: Whose = None) -> None:
    """Do a step if those who ordered it still may; if it fails, the reason is kept with it."""
    corpus = Corpus.objects.get(pk=corpus_id)
    try:
        ordered = recheck_order(whose, corpus, settings)
        if ordered and name == NAMES.IMPORT and not corpus.may_be_changed_by(ordered[0]):
            raise PeopleError(f"{corpus.name} belongs to others now. Nothing was imported.")
        if name == NAMES.FILTER:
            filter_users(corpus, FilterSettings(**settings), actor=actor)
        elif name == NAMES.MERGE:
            endpoint = settings.pop("endpoint", "")
            embedder = endpoint_embedder(Endpoint.objects.get(name=endpoint)) if endpoint else local_embedder()
            merge_attributes(corpus, embedder, **settings, actor=actor)
        elif name == NAMES.SAMPLE:
            sample_users(corpus, **settings, actor=actor)
        elif name == NAMES.PUSH:
            _push(corpus, settings, actor)
        else:
            _import(corpus, settings, actor)
    except (PeopleError, SettingError, EmbeddingError) as error:
        if isinstance(error, PeopleBusy) and name == NAMES.IMPORT:  # its file is here, and nobody will order it again
            people_step.apply_async((corpus_id, name, settings, actor, whose), countdown=AGAIN_SECONDS)
            return
        note_failure(corpus, name, str(error))
    except Exception as error:
        note_failure(corpus, name, repr(error))
        raise


@shared_task
def forget_stale_uploads() -> int:
    """Delete uploads that were abandoned, since they hold what people wrote."""
    return forget_stale()


def _push(corpus: Corpus, settings: dict[str, Any], actor: str) -> None:
    with step_of(corpus, NAMES.PUSH, settings, actor) as step:
        study = Study.objects.select_related("current").get(slug=settings["study"])
        try:
            portion = Portion(settings.get("items"), settings.get("people"), settings.get("seed", 0))
            step.report = push_attributes(corpus, study, actor, pilot=settings["pilot"], portion=portion)
        except ImportFault as fault:
            raise PeopleError(f"{study.slug}: nothing was added. Faults: {fault.count}\n{fault}") from None


def _import(corpus: Corpus, settings: dict[str, Any], actor: str) -> None:
    upload = CorpusUpload.objects.filter(pk=settings["upload"]).first()
    waits = corpus.steps.filter(name=NAMES.IMPORT, state=CorpusStep.State.WAITING, settings__upload=settings["upload"])
    if upload is None and not waits.exists():
        return  # a queue may deliver an order twice: the file was imported, and its report is kept
    with step_of(corpus, NAMES.IMPORT, settings, actor) as step:
        if upload is None:
            raise PeopleError("The file is not here any more. Bring it again.")
        with RaisedAs(PeopleError, ImportFailed):
            report = asdict(import_upload(upload, lambda share, number: step.show(share)))
        step.report = report | {"faults": report["faults"][:20], "faults_in_all": report.pop("fault_count")}
