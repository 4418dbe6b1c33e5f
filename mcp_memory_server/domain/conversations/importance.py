"""Weigh how important a turn is, by its role and its wording, in five languages.

Pattern rules for English, German, Spanish, Japanese and Chinese on normalised text. A text in another language, or one
that matches no rule, has the usual weight.
"""

import re
import unicodedata
from enum import StrEnum
from functools import cache

from mcp_memory_server.domain.language.phrases import (
    ACKNOWLEDGES,
    CORRECTS,
    CORRECTS_ELSEWHERE,
    COURTESIES,
    GREETS,
    PREFERS,
    PREFERS_ELSEWHERE,
    REACTIONS,
    RECOMMENDS,
    RECOMMENDS_ELSEWHERE,
)
from mcp_memory_server.domain.sessions.turns import Role

PREFERENCE = 0.9
CORRECTION = 0.85
RECOMMENDATION = 0.6
USUAL = 0.5
TOOL_RESULT = 0.4
ACKNOWLEDGEMENT = 0.2
GREETING = 0.1

LOOKED_AT = 2000
"""Characters of a long text that are looked at: what a person wants is said early."""
SMALL_TALK_LENGTH = 80
"""The longest greeting or acknowledgement."""

_APOSTROPHES = str.maketrans("\u2019\u2018\u00b4`", "''''")
_SPACES = re.compile(r"\s+")
# A name may follow: "hi anna". Words of questions and refusals are no names.
_NAME = re.compile(
    r"^((?:hi|hello|hey|hallo|hola|thanks|thank you|danke|gracias|good morning|guten morgen|buenos días)),? "
    r"(?!(?:no|but|stop|help|wait|why|what|can|nein|aber|hilfe|warum|pero|ayuda)\b)[^\W\d_]{2,14}(?=[.!?]*$)"
)


# A greeting or good wish with a name anywhere in a text: "thanks, Mel! Take care, Mel!"
_ADDRESSED = re.compile(
    r"\b((?:hi|hello|hey|hallo|hola|thanks|thank you|danke|gracias|bye|goodbye|take care|good night|good morning"
    r"|tschüss|guten morgen|gute nacht|buenos días|buenas noches|adiós|cuídate)),? "
    r"(?!(?:no|not|but|stop|help|wait|why|what|can|nein|nicht|aber|hilfe|warum|pero|ayuda)\b)[^\W\d_]{2,14}(?=[.!?]|$)"
)
_WORD = re.compile(r"[^\W_]")


def importance(role: Role, content: str) -> float:
    """Return the importance of a turn, from 0.1 for a greeting to 0.9 for a preference of the user."""
    if role is Role.TOOL:
        return TOOL_RESULT
    if role is Role.SYSTEM:
        return USUAL
    text = _normalised(content[:LOOKED_AT])
    if len(text) <= SMALL_TALK_LENGTH and (weight := _small_talk(text)) is not None:
        return weight
    if role is Role.USER:
        if _says(text, PREFERS, PREFERS_ELSEWHERE):
            return PREFERENCE
        if _says(text, CORRECTS, CORRECTS_ELSEWHERE):
            return CORRECTION
    return RECOMMENDATION if _says(text, RECOMMENDS, RECOMMENDS_ELSEWHERE) else USUAL


class SmallTalk(StrEnum):
    """The kind of a text without information of its own."""

    COURTESY = "courtesy"
    """Greetings, thanks, farewells, and texts without a word."""
    REACTION = "reaction"
    """Agreement and surprise too, which may answer a question that comes right before."""


def small_talk(content: str) -> SmallTalk | None:
    """Return the kind of small talk that a text consists of; None if it says anything else."""
    if len(content) > SMALL_TALK_LENGTH:
        return None
    text = _ADDRESSED.sub(r"\1", _normalised(content))
    if not _WORD.search(text) or _nothing_but(GREETS + COURTESIES).fullmatch(text):
        return SmallTalk.COURTESY
    is_reaction = _nothing_but(GREETS + COURTESIES + ACKNOWLEDGES + REACTIONS).fullmatch(text)
    return SmallTalk.REACTION if is_reaction else None


def _small_talk(text: str) -> float | None:
    polite = _nothing_but(GREETS + ACKNOWLEDGES)
    if not polite.fullmatch(text) and not polite.fullmatch(text := _NAME.sub(r"\1", text)):
        return None
    return GREETING if _nothing_but(GREETS).fullmatch(text) else ACKNOWLEDGEMENT


def _says(text: str, latin: tuple[str, ...], elsewhere: tuple[str, ...]) -> bool:
    return _any_of(latin, () if text.isascii() else elsewhere).search(text) is not None


# Compiled on first use, because compiling all of them takes some 10 ms.
@cache
def _any_of(latin: tuple[str, ...], elsewhere: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join((rf"(?<![^\W\d_])(?:{'|'.join(latin)})", *elsewhere)))


@cache
def _nothing_but(phrases: tuple[str, ...]) -> re.Pattern[str]:
    # Possessive and atomic groups, so that a long row of phrases that fails does not backtrack.
    return re.compile(rf"[\W_]*(?>(?:{'|'.join(phrases)})(?:(?<![a-zà-ÿ])|(?![a-zà-ÿ]))[\W_]*)++")


def _normalised(text: str) -> str:
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)[:LOOKED_AT].translate(_APOSTROPHES)
    return _SPACES.sub(" ", plain.casefold()).strip()
