"""Speakers: who said which document, and whom a question names."""

from collections.abc import Set as AbstractSet

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers, with_room
from mcp_memory_server.domain.language.word_forms import words_of
from mcp_memory_server.domain.recall.documents import ASSISTANT, USER

UNKNOWN = 0
"""The number of nobody in particular."""


class Speakers:
    """The speaker of each row, as a number."""

    def __init__(self) -> None:
        self.number_of = np.empty(0, np.int32)
        self._numbers: dict[str, int] = {}
        self._names: list[frozenset[str]] = [frozenset()]

    def put(self, row: int, speaker: str | None) -> None:
        """Write who said a row."""
        self.number_of = with_room(self.number_of, row)
        self.number_of[row] = UNKNOWN if speaker is None else self._number(speaker)

    def asked_for(self, words: AbstractSet[str], role: str | None) -> Numbers:
        """Return 1 for each speaker whom a question asks about, by its words or by role; 0 for others. By number."""
        asked = np.array([not words.isdisjoint(names) for names in self._names], np.float32)
        for known in (USER, ASSISTANT):
            if known in self._numbers:
                asked[self._numbers[known]] = known == role
        return asked

    def _number(self, speaker: str) -> int:
        number = self._numbers.setdefault(speaker, len(self._names))
        if number == len(self._names):
            self._names.append(frozenset(words_of(speaker)))
        return number
