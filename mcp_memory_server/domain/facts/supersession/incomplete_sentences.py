"""Complete fragments: facts without a subject ("Lives in Rome"), bare values ("Rome"), and facts about "the user".

A memory is about one person, who has a name in one fact and is "the user" in the next.
"""

import re

from mcp_memory_server.domain.facts.supersession.reading import VERBS, Reading

LONGEST_VALUE = 4
"""The most words of a bare value."""
SUBJECT = "User"
"""The subject of a sentence without one."""

_WITH_ONE_VALUE = (
    "employer company workplace occupation profession city residence hometown name birthday age height weight gender "
    "arbeitgeber beruf wohnort stadt geburtstag alter größe gewicht empleador profesión ciudad nombre cumpleaños edad "
    "employeur métier ville nom anniversaire âge"
)
BARE_VALUES = frozenset(_WITH_ONE_VALUE.split())
"""Topics with exactly one bare value. Other single-valued topics may list several: languages, numbers."""

_ABOUT_THE_USER = frozenset(
    ["about", "career", "home", "identity", "job", "location", "me", "personal", "profile", "user", "work"]
)
"""Topics about the user begin with one of these, or consist of the last part alone."""
_USER = re.compile(r"(?:the )?user\b", re.IGNORECASE)
_NAME = re.compile(r"[A-ZÀ-Þ][\w'’-]+(?: [A-ZÀ-Þ][\w'’-]+)?(?= [a-zß-ÿ])")  # noqa: RUF001


def about_the_user(one: str, other: str, topic: str) -> tuple[str, str]:
    """Return the texts with "User" for a name, if one of them has a name and the topic is about the user."""
    place, _, leaf = topic.strip().lower().rpartition("/")
    if leaf not in BARE_VALUES or (place and place.partition("/")[0] not in _ABOUT_THE_USER):
        return one, other
    if bool(_USER.match(one)) == bool(_USER.match(other)):
        return one, other
    return tuple(text if _USER.match(text) else _NAME.sub(SUBJECT, text, count=1) for text in (one, other))  # type: ignore[return-value]


def with_subject(text: str, reading: Reading) -> str:
    """Return the text with a subject added if it begins with a verb."""
    if not reading.pieces or reading.pieces[0].tag not in VERBS:
        return text
    return f"{SUBJECT} {text[:1].lower()}{text[1:]}"


def is_another_value(new: Reading, old: Reading, leaf: str) -> bool:
    """Check whether both are bare values of a topic that has exactly one."""
    return leaf in BARE_VALUES and all(_is_bare(one) for one in (new, old))


def _is_bare(reading: Reading) -> bool:
    return len(reading.pieces) <= LONGEST_VALUE and not any(piece.tag in VERBS for piece in reading.pieces)
