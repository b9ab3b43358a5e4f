"""What a machine reads, generates or computes, as rows."""

from analysis.models.corpora import Conversation, ConversationVector, Corpus
from analysis.models.personas import Persona, PersonaSet
from analysis.models.runs import Completion, Endpoint, Run, Schedule, SimulatedUser

__all__ = [
    "Completion",
    "Conversation",
    "ConversationVector",
    "Corpus",
    "Endpoint",
    "Persona",
    "PersonaSet",
    "Run",
    "Schedule",
    "SimulatedUser",
]
