"""Question forms: whose words a question asks for, told by its pronouns and by rules of wording."""

import re

from mcp_memory_server.domain.recall.documents import ASSISTANT, USER

# "What is my rent?" asks for what the user said.
_FIRST_PERSON = re.compile(
    r"\b(?:i|me|my|mine|myself|ich|mich|mir|mein\w*|yo|mi|mis|me|mío|mía|je|j|mon|ma|mes|moi|io|mia|mio|miei|mie"
    r"|eu|meu|meus|minha|minhas)\b|[私僕俺我]",
    re.IGNORECASE,
)
# "Which hotel did you recommend?", "I am going back to our previous chat, can you remind me": what the assistant said.
_SECOND_PERSON = re.compile(
    r"\b(?:did you|remind me|(?:previous|earlier|last) (?:chat|conversation|discussion)"
    r"|you (?:\w+ )?(?:told|said|suggested|recommended|mentioned|gave|listed|provided|described|explained|wrote|made"
    r"|came|helped|advised|proposed|shared)"
    r"|hast du|du (?:\w+ ){0,6}(?:gesagt|empfohlen|vorgeschlagen|erwähnt|genannt)"
    r"|(?:me )?(?:dijiste|recomendaste|sugeriste|mencionaste|diste|explicaste))\b",
    re.IGNORECASE,
)
# A summary is of both sides.
_BOTH = re.compile(
    r"\b(?:summar\w+|overview|recap|zusammenfass\w+|fass\w*|resum\w+)\b|要約|まとめ|总结|概括", re.IGNORECASE
)

# "user's dietary restrictions", "where does the user live": everything here is about the user.
_OWNER = re.compile(r"\b(?:the |about )?users?(?:['’]s|['’])?(?!\w)\s?", re.IGNORECASE)  # noqa: RUF001

# "Where did she work before?": what no longer holds is asked for.
_PAST = re.compile(
    r"\b(?:before|previous(?:ly)?|formerly?|used to|earlier|back then|in the past|no longer|history|changed?|old"
    r"|vorher|früher\w*|ehemalig\w*|damals|bisher\w*|geändert|antes|anterior\w*|antigu\w*|cambi\w*"
    r"|avant|ancien\w*|auparavant|prima|precedente|ex)\b|以前|前の|かつて|之前|以前的|原来|变化",
    re.IGNORECASE,
)


def asks_for_the_past(question: str) -> bool:
    """Tell whether a question asks for what held once, so that it need not stand back behind what holds now."""
    return _PAST.search(question) is not None


def without_owner(question: str) -> str:
    """Return the question without the words that only say whose memory is asked, by which every memory is as close."""
    return _OWNER.sub("", question).strip() or question


def role_asked_for(question: str) -> str | None:
    """Return ``USER`` or ``ASSISTANT`` if the question asks for what that one said, and None if it does not tell."""
    if _BOTH.search(question):
        return None
    if _SECOND_PERSON.search(question):
        return ASSISTANT
    return USER if _FIRST_PERSON.search(question) else None
