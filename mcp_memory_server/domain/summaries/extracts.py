"""Summing up without a model: the most informative sentences of a conversation, chosen by rules in five languages.

It quotes and never invents. What it cannot recognise (a resolution said in passing, irony) it leaves out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mcp_memory_server.domain.conversations.importance import ACKNOWLEDGEMENT, CORRECTION, PREFERENCE, importance
from mcp_memory_server.domain.kernel.redaction import redacted_text
from mcp_memory_server.domain.kernel.text import shortened
from mcp_memory_server.domain.language.mentions import content_words, is_same_matter
from mcp_memory_server.domain.language.sentences import asks, sentences
from mcp_memory_server.domain.language.stated_facts import stated_facts
from mcp_memory_server.domain.language.stop_words import ASKING, STOP_WORDS
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.domain.summaries.material import LEFT_OUT, Material, own_statements_of
from mcp_memory_server.domain.summaries.summary import (
    MOST_PREFERENCES,
    MOST_QUESTIONS,
    MOST_TOPICS,
    Draft,
    Lesson,
    Sentiment,
)

MOST_QUOTED = 4
MOST_LESSONS = 10
LONGEST_QUOTE = 200
CENTRAL = 0.4
"""How much a sentence gains that has the words which the whole conversation is about."""
OF_THE_USER = 0.1
BY_USER = "The user: "
BETWEEN = " · "
"""Between the sentences of a running summary."""

# Said instead of an answer.
_DEFERS = re.compile(
    r"i(?:'ll| will) (?:have to |need to )?(?:check|look into|find out|get back|ask|follow up|let you know)"
    r"|i (?:don't|do not|am not|'m not) (?:know|sure|certain|have (?:that|this|an answer))|not sure|no answer yet"
    r"|\b(?:i|we) (?:could not|couldn't|cannot|can't|was not able to|wasn't able to|were not able to|did not|didn't)"
    r" (?:yet )?(?:find|reach|determine|confirm|verify|establish|learn|tell|get (?:an? )?(?:answer|reply|hold))"
    r"|\b(?:i|we) (?:am|are|was|were) unable to"
    r"|\b(?:found|have|got|there is|there was) no (?:answer|reply|response|information)"
    r"|nobody (?:knows|answered|replied)"
    r"|(?:konnte|kann)[^.!?]{0,40} nicht (?:herausfinden|finden|klären|sagen|beantworten)"
    r"|keine (?:Antwort|Auskunft|Information)"
    r"|no (?:pude|puedo|he podido) (?:averiguar|encontrar|confirmar|saber)|(?:sin|no hay) (?:respuesta|información)"
    r"|let me (?:check|find)"
    r"|(?:need|have) to (?:check|find out|ask)|still (?:open|unclear|waiting)|will (?:check|find out|get back)"
    r"|das (?:kläre|prüfe|weiß) ich|ich (?:prüfe|kläre|melde mich|weiß es nicht|bin (?:mir )?nicht sicher)"
    r"|noch (?:offen|unklar)"
    r"|(?:lo|la) (?:averiguo|compruebo|consulto|verifico)|voy a (?:comprobar|averiguar|consultar)"
    r"|no (?:lo sé|estoy segur)"
    r"|(?:確認|調べ)(?:し|て|ま).{0,8}(?:ます|みます)|(?:わか|分か)りません|(?:我|我们).{0,4}(?:查一下|确认一下|確認一下|不确定|不確定|不知道)",
    re.IGNORECASE,
)
_GLAD = re.compile(
    r"\b(?:thank|thanks|great|perfect|love|excellent|awesome|happy|wonderful|glad|danke|super|toll|perfekt|prima|freue"
    r"|gracias|genial|perfecto|encanta|feliz)\b|ありがとう|嬉しい|最高|[谢謝]{2}|太好了|很棒",
    re.IGNORECASE,
)
_CROSS = re.compile(
    r"\b(?:angry|annoy\w*|terrible|awful|frustrat\w*|disappoint\w*|useless|broken|complain\w*|unacceptable|ärger\w*|schlecht"
    r"|enttäusch\w*|kaputt|furchtbar|enfadad\w*|terrible|frustrad\w*|decepcion\w*|inaceptable)\b|ひどい|最悪|残念|怒|糟糕|生气|失望|太差",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:,? (?:and|but|und|aber|y|pero)|[;,、，]) *")  # noqa: RUF001
_WORD = re.compile(r"[A-Za-zÀ-ɏͰ-ӿ][A-Za-zÀ-ɏͰ-ӿ'’-]{3,}|[\u30a0-\u30ff]{3,}|[\u4e00-\u9fff]{2,6}")  # noqa: RUF001
_SAID_ABOUT_ANYTHING = """
    want need like would could should have been with this that from your about please make today tomorrow really still
    there their thank thanks hello okay sure yesterday week next last time well prefer always never going moved work
    works live lives user assistant
    hate hates hated great love loves loved like liked good nice fine best better worse worst cool awesome excellent
    perfect wonderful terrible awful happy glad angry annoying sorry sure maybe very much many more most some
    thing things stuff
    think know knew tell told said says find found does doing done getting take took come came look looking help helps
    right wrong yeah yes actually again also just even only back been because then than them they what when where which
"""
_COMMON = ASKING.union(_SAID_ABOUT_ANYTHING.split(), *STOP_WORDS.values())


@dataclass(frozen=True)
class _Quote:
    turn: Turn
    place: int
    text: str
    worth: float


def extract(material: Material) -> Draft:
    """Return the draft of a conversation in its own words."""
    quotes = _quotes(material.spoken)
    said = [quote for quote in quotes if quote.turn.role is Role.USER]
    return Draft(
        discussed=tuple(_quoted(quote) for quote in _best(quotes, MOST_QUOTED)),
        preferences=_each_once(quote.text for quote in said if _weight(quote) == PREFERENCE)[-MOST_PREFERENCES:],
        unresolved=_unresolved(material.spoken),
        answered=tuple(question for question in material.questions if _answers(material.spoken, question)),
        topics=_topics(said or quotes),
        sentiment=_sentiment([turn.content for turn in material.spoken if turn.role is Role.USER]),
        lessons=_lessons(said),
    )


def running_summary(known: str | None, turns: Sequence[Turn], most_characters: int) -> str:
    """Return what is known of the beginning of a conversation together with these turns, which come after it."""
    quotes = _quotes(Material(tuple(turns)).spoken)
    lasting = [_lasting(_quoted(quote)) for quote in quotes]
    stated = [replace(quote, worth=quote.worth + more) for quote, more in zip(quotes, lasting, strict=True)]
    chosen = [_quoted(quote) for quote in _best(stated, max(2, len(turns) // 4, sum(map(bool, lasting))))]
    if known is None and quotes and (first := _quoted(quotes[0])) not in chosen:
        chosen.insert(0, first)
    sentences = [*(known.split(BETWEEN) if known else ()), *chosen]
    # The beginning says what a conversation is about, and stays; what says least about the user is dropped first.
    while len(BETWEEN.join(sentences)) > most_characters and len(sentences) > 2:
        del sentences[min(range(1, len(sentences)), key=lambda place: (_lasting(sentences[place]), place))]
    return shortened(BETWEEN.join(sentences), most_characters)


def _lasting(quoted: str) -> int:
    """Return how much a quoted sentence says that still matters later: most, if the user states or wants something."""
    said = quoted.removeprefix(BY_USER)
    if said == quoted or asks(said):
        return 0
    weight = importance(Role.USER, said)
    states = bool(stated_facts(said)) or weight >= CORRECTION or any(sign.isdigit() for sign in said)
    return 2 if states else 1


def _quotes(turns: Sequence[Turn]) -> list[_Quote]:
    pieces = [
        (turn, piece)
        for turn in turns
        if turn.content != LEFT_OUT
        for piece in sentences(turn.content)
        if redacted_text(piece) == piece and importance(turn.role, piece) > ACKNOWLEDGEMENT
    ]
    counts = Counter(word for _, piece in pieces for word in content_words(piece))
    most = max(counts.values(), default=1)
    return [_Quote(turn, place, piece, _worth(turn, piece, counts, most)) for place, (turn, piece) in enumerate(pieces)]


def _worth(turn: Turn, piece: str, counts: Counter[str], most: int) -> float:
    words = content_words(piece)
    central = sum(counts[word] for word in words) / (len(words) * most) if words else 0.0
    return importance(turn.role, piece) + CENTRAL * central + (OF_THE_USER if turn.role is Role.USER else 0)


def _weight(quote: _Quote) -> float:
    return importance(quote.turn.role, quote.text)


def _best(quotes: Sequence[_Quote], most: int) -> list[_Quote]:
    """Return the worthiest that do not repeat each other, in the order in which they were said."""
    chosen: list[_Quote] = []
    for quote in sorted(quotes, key=lambda one: (-one.worth, one.place)):
        if len(chosen) == most:
            break
        if not any(is_same_matter(quote.text, other.text) for other in chosen):
            chosen.append(quote)
    return sorted(chosen, key=lambda one: one.place)


def _quoted(quote: _Quote) -> str:
    speaker = BY_USER if quote.turn.role is Role.USER else "The assistant: "
    return speaker + shortened(quote.text, LONGEST_QUOTE)


def _each_once(texts: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for text in texts:
        if not any(is_same_matter(text, other) for other in kept):
            kept.append(text)
    return tuple(kept)


def _unresolved(turns: Sequence[Turn]) -> tuple[str, ...]:
    """Return the user's questions to which nothing was said, or nothing but that it has to be found out."""
    found: list[str] = []
    for place, turn in enumerate(turns):
        if turn.role is Role.USER:
            asked = [
                one for one in sentences(turn.content) if asks(one) and redacted_text(one) == one and content_words(one)
            ]
            found += [one for one in asked if not _is_answered(one, turns[place + 1 :])]
    return _each_once(found)[-MOST_QUESTIONS:]


def _is_answered(question: str, later: Sequence[Turn]) -> bool:
    reply = next((turn for turn in later if turn.role is Role.ASSISTANT), None)
    if reply is None:
        return False
    return _DEFERS.search(reply.content) is None or _answers(later, question)


def _answers(turns: Sequence[Turn], question: str) -> bool:
    """Return whether the assistant says something about the question's matter that is no putting off."""
    words = content_words(question)
    return any(
        turn.role is Role.ASSISTANT
        and _DEFERS.search(turn.content) is None
        and 2 * len(words & content_words(turn.content)) >= len(words) > 0
        for turn in turns
    )


def _topics(quotes: Sequence[_Quote]) -> tuple[str, ...]:
    counts: Counter[str] = Counter()
    first: dict[str, int] = {}
    for quote in quotes:
        for word in {match.group().lower() for match in _WORD.finditer(quote.text)} - _COMMON:
            counts[word] += 1
            first.setdefault(word, quote.place)
    ordered = sorted(counts, key=lambda word: (-counts[word], first[word], word))
    return tuple(ordered[: MOST_TOPICS - 2])


def _sentiment(said: Sequence[str]) -> Sentiment:
    glad = any(_GLAD.search(text) for text in said)
    cross = any(_CROSS.search(text) for text in said)
    if glad and cross:
        return Sentiment.MIXED
    return Sentiment.POSITIVE if glad else Sentiment.NEGATIVE if cross else Sentiment.NEUTRAL


def _lessons(said: Sequence[_Quote]) -> tuple[Lesson, ...]:
    """Return what the user stated of themselves, and how they want things: in their own words."""
    found: dict[str, Lesson] = {}
    own = {quote.turn.id: frozenset(own_statements_of(quote.turn)) for quote in said}
    for quote in said:
        if quote.text not in own[quote.turn.id]:
            continue
        facts = stated_facts(quote.text)
        for topic, fact in facts:
            found[topic] = Lesson(fact, quote.turn.id, topic)
        # Beside a fact, only the part that says something else: the fact may change.
        for said_so in _CLAUSE.split(quote.text) if facts else [quote.text]:
            weight = importance(Role.USER, said_so)
            if weight in (PREFERENCE, CORRECTION) and not asks(quote.text) and not stated_facts(said_so):
                text = f'The user said: "{shortened(said_so, LONGEST_QUOTE)}"'
                # A correction without a topic only hints at what would be right.
                found.setdefault(text, Lesson(text, quote.turn.id, stated=weight == PREFERENCE))
    return tuple(found.values())[-MOST_LESSONS:]
