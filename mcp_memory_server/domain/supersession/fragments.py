"""Fragments: what is saved without a subject ("Lives in Rome") or as a bare value ("Rome")."""

from mcp_memory_server.domain.supersession.reading import VERBS, Reading

LONGEST_VALUE = 4
"""A bare value has at most so many words."""
SUBJECT = "User"
"""A sentence without a subject is about the user."""

_WITH_ONE_VALUE = (
    "employer company workplace occupation profession city residence hometown name birthday age height weight gender "
    "arbeitgeber beruf wohnort stadt geburtstag alter größe gewicht empleador profesión ciudad nombre cumpleaños edad "
    "employeur métier ville nom anniversaire âge"
)
BARE_VALUES = frozenset(_WITH_ONE_VALUE.split())
"""Topics under which a bare value is the only one. Other single-valued ones may list several: languages, numbers."""


def with_subject(text: str, reading: Reading) -> str:
    """Return the text with a subject if it begins with a verb."""
    if not reading.pieces or reading.pieces[0].tag not in VERBS:
        return text
    return f"{SUBJECT} {text[:1].lower()}{text[1:]}"


def is_another_value(new: Reading, old: Reading, leaf: str) -> bool:
    """Tell whether both are bare values of what the topic says has one."""
    return leaf in BARE_VALUES and all(_is_bare(one) for one in (new, old))


def _is_bare(reading: Reading) -> bool:
    return len(reading.pieces) <= LONGEST_VALUE and not any(piece.tag in VERBS for piece in reading.pieces)
