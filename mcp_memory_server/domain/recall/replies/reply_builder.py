"""Fill a reply with memories, best first, until its token budget is used up."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain

from mcp_memory_server.domain.kernel.text import ever_shorter
from mcp_memory_server.domain.language.excerpts import excerpt
from mcp_memory_server.domain.recall.replies.answers import (
    CHARACTERS_A_TOKEN,
    SHORTEST_EXCERPT,
    Count,
    Recalled,
    Recollection,
    reply_text,
)
from mcp_memory_server.domain.recall.replies.cursors import LONGEST_CURSOR, Position

SHARE_PER_MEMORY = 8
"""One memory takes at most an eighth of a reply's tokens. The rest of a longer one is left out."""
SHORTEST_LAST = 20
"""The last memory of a reply is cut further, to the room that is left, if that is enough for so many tokens of text."""
TOKENS_A_JOINT = 1
"""Memories are counted separately. Joining two of them takes at most so many additional tokens."""


class ReplyBuilder:
    """Builds a reply of as many memories as fit, best first.

    Of a long text only the part about the question is returned, so that one memory does not take the room of ten.
    """

    def __init__(self, answer: Recalled, found: int, words: Collection[str], count: Count, max_tokens: int) -> None:
        """``found`` is the number of matches; ``words`` are the words of the question."""
        self._answer = answer
        self._count = count
        self._max_tokens = max_tokens
        self._words = words
        self._most_characters = max(SHORTEST_EXCERPT, max_tokens // SHARE_PER_MEMORY) * CHARACTERS_A_TOKEN
        self._first_alone = replace(answer, memories=(), more=max(found - 1, 0))
        self._room = max_tokens - count(reply_text(self._first_alone.to_reply()))
        # The cursor is not known yet, so the longest one is assumed.
        self._room_for_a_cursor = count(_cursor_text(LONGEST_CURSOR))
        self._memories: list[Recollection] = []
        self.is_full = False

    def add(self, memory: Recollection) -> bool:
        """Add one more memory, shortened if necessary. Return False if there is no room for it."""
        for text in chain(self._shorter(memory.text), self._fitting_the_rest(memory)):
            fitting = memory if text is memory.text else replace(memory, text=text)
            cost = self._count(reply_text(fitting.to_reply())) + TOKENS_A_JOINT
            if cost <= self._room - self._room_for_a_cursor or (not self._memories and self._fits_alone(fitting)):
                self._memories.append(fitting)
                self._room -= cost
                return True
        self.is_full = True
        return False

    def _fits_alone(self, memory: Recollection) -> bool:
        # Counted exactly, and without a cursor or a note, which are less important than the first memory.
        for answer in (self._answer, replace(self._answer, is_nearest_only=False)):
            alone = replace(self._first_alone, memories=(memory,), is_nearest_only=answer.is_nearest_only)
            if self._count(reply_text(alone.to_reply())) <= self._max_tokens:
                self._answer = answer
                return True
        return False

    def build(self, more: int, position: Position) -> Recalled:
        """Return the reply; ``more`` is the number of matches left out, ``position`` the end of the earlier replies."""
        for kept in (self._memories[:length] for length in range(len(self._memories), 0, -1)):
            left = more + len(self._memories) - len(kept)
            reply = replace(self._answer, memories=tuple(kept), more=left)
            leads_on = replace(reply, cursor=position.cursor_after(len(kept), kept[-1].id)) if left else reply
            for fitting in (leads_on, reply) if len(kept) == 1 else (leads_on,):
                if self._fits(fitting):
                    return fitting
        return replace(self._answer, more=more + len(self._memories), is_nearest_only=False)

    def _fits(self, reply: Recalled) -> bool:
        """Check whether the reply keeps the budget. It is counted as a whole only if it may be close."""
        cursor = 0 if reply.cursor is None else self._count(_cursor_text(reply.cursor))
        if cursor + TOKENS_A_JOINT * len(self._memories) <= self._room:
            return True
        return self._count(reply_text(reply.to_reply())) <= self._max_tokens

    def _shorter(self, text: str) -> Iterator[str]:
        """Yield ever shorter versions of the text; the shortest ones only for the first memory."""
        first = excerpt(text, self._words, self._most_characters)
        yield first
        if len(first) > SHORTEST_EXCERPT * CHARACTERS_A_TOKEN:
            yield excerpt(text, self._words, SHORTEST_EXCERPT * CHARACTERS_A_TOKEN)
        if not self._memories:
            yield from ever_shorter(excerpt(text, self._words, SHORTEST_EXCERPT * CHARACTERS_A_TOKEN))

    def _fitting_the_rest(self, memory: Recollection) -> Iterator[str]:
        """Yield excerpts that may fit into the rest of the budget."""
        frame = self._count(reply_text(replace(memory, text="").to_reply())) + TOKENS_A_JOINT
        left = self._room - self._room_for_a_cursor - frame
        # Some texts have fewer characters per token than usual.
        for tokens in (left, left * 3 // 4, left // 2):
            if tokens >= SHORTEST_LAST:
                yield excerpt(memory.text, self._words, tokens * CHARACTERS_A_TOKEN)


def _cursor_text(cursor: str) -> str:
    return f'"cursor":"{cursor}",'
