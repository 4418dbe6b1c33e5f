"""Recognise from the wording of a question whose statements it asks for, and whether it asks for the past."""

import re

from mcp_memory_server.domain.recall.documents import ASSISTANT, USER

# "What is my rent?" asks for a statement of the user.
_FIRST_PERSON = re.compile(
    r"\b(?:i|me|my|mine|myself|ich|mich|mir|mein\w*|yo|mi|mis|me|mío|mía|je|j|mon|ma|mes|moi|io|mia|mio|miei|mie"
    r"|eu|meu|meus|minha|minhas)\b|[私僕俺我]",
    re.IGNORECASE,
)
# "Which hotel did you recommend?", "I am going back to our previous chat, can you remind me": the assistant's.
_SECOND_PERSON = re.compile(
    r"\b(?:did you|remind me|(?:previous|earlier|last) (?:chat|conversation|discussion)"
    r"|you (?:\w+ )?(?:told|said|suggested|recommended|mentioned|gave|listed|provided|described|explained|wrote|made"
    r"|came|helped|advised|proposed|shared)"
    r"|hast du|du (?:\w+ ){0,6}(?:gesagt|empfohlen|vorgeschlagen|erwähnt|genannt)"
    r"|(?:me )?(?:dijiste|recomendaste|sugeriste|mencionaste|diste|explicaste))\b",
    re.IGNORECASE,
)
# A summary covers both sides.
_BOTH = re.compile(
    r"\b(?:summar\w+|overview|recap|zusammenfass\w+|fass\w*|resum\w+)\b|要約|まとめ|总结|概括", re.IGNORECASE
)

# "user's dietary restrictions", "where does the user live": all memories are about the user, so this says nothing.
_OWNER = re.compile(r"\b(?:the |about )?users?(?:['’]s|['’])?(?!\w)\s?", re.IGNORECASE)  # noqa: RUF001

# "Where did she work before?" asks for a past value.
_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|formerly?|used to|earlier|back then|in the past|no longer|history|changed?|old"
    r"|vorher|früher\w*|ehemalig\w*|damals|bisher\w*|geändert|antes|anterior\w*|antigu\w*|cambi\w*"
    r"|avant|ancien\w*|auparavant|prima|precedente|ex)\b|以前|前の|かつて|之前|以前的|原来|变化",
    re.IGNORECASE,
)


def asks_for_the_past(question: str) -> bool:
    """Check whether a question asks for past values, so that they need not come after the current one."""
    return _PAST.search(question) is not None


def without_owner(question: str) -> str:
    """Return the question without words such as "the user's", which make every memory equally close."""
    return _OWNER.sub("", question).strip() or question


def role_asked_for(question: str) -> str | None:
    """Return ``USER`` or ``ASSISTANT`` if the question asks for that speaker's statements; None if it does not say."""
    if _BOTH.search(question):
        return None
    if _SECOND_PERSON.search(question):
        return ASSISTANT
    return USER if _FIRST_PERSON.search(question) else None
