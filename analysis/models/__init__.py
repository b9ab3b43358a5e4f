"""What a machine reads, generates or computes, as rows."""

from analysis.models.corpora import (
    Conversation,
    ConversationRepeat,
    ConversationVector,
    Corpus,
    CorpusUpload,
    ErasedUser,
    Persona,
    PersonaSet,
    UploadPart,
)
from analysis.models.instructions import Instruction
from analysis.models.notices import NoticeAddress
from analysis.models.people import Attribute, ConversationVerdict, CorpusStep, CorpusUser, TextVector
from analysis.models.results import Alias, AliasDecision, Answer, AnswerDecision, MetricValue, SecondOpinion
from analysis.models.runs import Completion, Endpoint, Run, Schedule, SimulatedUser, Task
from analysis.models.training import Example, ExampleSet, ReplyScore, TrainedModel

__all__ = [
    "Alias",
    "AliasDecision",
    "Answer",
    "AnswerDecision",
    "Attribute",
    "Completion",
    "Conversation",
    "ConversationRepeat",
    "ConversationVector",
    "ConversationVerdict",
    "Corpus",
    "CorpusStep",
    "CorpusUpload",
    "CorpusUser",
    "Endpoint",
    "ErasedUser",
    "Example",
    "ExampleSet",
    "Instruction",
    "MetricValue",
    "NoticeAddress",
    "Persona",
    "PersonaSet",
    "ReplyScore",
    "Run",
    "Schedule",
    "SecondOpinion",
    "SimulatedUser",
    "Task",
    "TextVector",
    "TrainedModel",
    "UploadPart",
]
