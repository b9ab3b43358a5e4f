"""What a study asks its annotators: the questions of its kind, in the study's words."""

from surveys.studies.files.kinds import IMPORTED, KINDS, PUBLISHED_WORDS, WORDINGS, LabelOption, LabelQuestion, reword
from surveys.studies.files.schema import AnnotationWork, LabelScale


def questions_for(work: AnnotationWork | None) -> tuple[LabelQuestion, ...]:
    """What annotators are asked: the kind's questions in the study's words, or the questions of an imported file."""
    if work is None:
        return ()
    if work.kind != IMPORTED:
        words = {each.question: each for each in (*WORDINGS.get(work.wording, ()), *work.wordings)}
        return tuple(
            reword(question, words[question.name]) if question.name in words else question
            for question in KINDS[work.kind].questions
        )
    return tuple(
        LabelQuestion(
            scale.question,
            scale.question,
            tuple(LabelOption(label, label) for label in scale.labels),
            scale="ordinal" if scale.ordered else "nominal",
            required=False,
            positive=_positive_of(scale),
        )
        for scale in work.scales
    )


def _positive_of(scale: LabelScale) -> str:
    """The positive label of the kind of ours that has the same labels; empty if none has."""
    labels = {label.casefold(): label for label in scale.labels}
    known = (question for kind in KINDS.values() for question in kind.questions if question.positive)
    return next((labels[each.positive] for each in known if {*each.values} == labels.keys()), "")


def is_worded_as_published(work: AnnotationWork) -> bool:
    """Whether annotators are asked in the words of the paper whose values are shown beside ours."""
    return work.wording == PUBLISHED_WORDS and not work.wordings
