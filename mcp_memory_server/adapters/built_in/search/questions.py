"""Questions as the index sees them."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from mcp_memory_server.adapters.built_in.search.scoring import understood
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.question_dates import AskedTimes
from mcp_memory_server.domain.language.word_forms import asked_words, language_of, words_of
from mcp_memory_server.domain.recall.question_forms import role_asked_for


@dataclass(frozen=True)
class Question:
    """A question, its vectors, the words with their weights, and the times that it speaks of."""

    text: str
    vectors: Vectors
    words: Mapping[str, float]
    times: AskedTimes

    @cached_property
    def role(self) -> str | None:
        """Whose words it asks for, if it says so."""
        return role_asked_for(self.text)

    @cached_property
    def spoken(self) -> AbstractSet[str]:
        """All its words, names and pronouns too."""
        return frozenset(words_of(self.text))

    @cached_property
    def asks_only_for_a_time(self) -> bool:
        """Such as "what did I do yesterday?"."""
        return bool(self.times.spans) and all(weight < 1 for weight in asked_words(self.times.rest).values())

    @cached_property
    def understood(self) -> float:
        """How much of it the coarse model understands."""
        return understood(self.text, language_of(words_of(self.text)))
