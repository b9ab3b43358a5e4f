"""The rows of everything that a machine reads, generates or computes."""

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
from analysis.models.notices import NoticeAddress
from analysis.models.people import Attribute, ConversationVerdict, CorpusStep, CorpusUser, TextVector
from analysis.models.results import Alias, AliasDecision, Answer, AnswerDecision, MetricValue, SecondOpinion
from analysis.models.runs import Completion, Endpoint, Instruction, Run, Schedule, SimulatedUser, Task
from analysis.models.training import Example, ExampleSet, ReplyScore, TrainedModel
