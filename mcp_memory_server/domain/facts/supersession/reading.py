"""Parse a short statement: tag its words and phrases, and find its subject, verb and owner."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from mcp_memory_server.domain.facts.supersession.english import ENGLISH
from mcp_memory_server.domain.facts.supersession.french import FRENCH
from mcp_memory_server.domain.facts.supersession.german import GERMAN
from mcp_memory_server.domain.facts.supersession.spanish import SPANISH
from mcp_memory_server.domain.facts.supersession.word_tags import (
    ANYONE,
    SELF,
    Language,
    Phrase,
    Tag,
    split_phrases,
    word_set,
)

LANGUAGES = (ENGLISH, GERMAN, SPANISH, FRENCH)
MOST_WORDS = 80
"""A longer text is not parsed, because it is no short fact."""

STATES = frozenset({Tag.IS, Tag.HAS, Tag.HOLDS, Tag.PREFERS, Tag.AMOUNTS, Tag.LIVES, Tag.WORKS, Tag.CALLED, Tag.REPORTS,
                    Tag.DRIVES, Tag.DUE, Tag.HAPPENS, Tag.MANY, Tag.DISLIKES})  # fmt: skip
STATUSES = frozenset({Tag.SINGLE, Tag.DATING, Tag.ENGAGED, Tag.MARRIED, Tag.PARTED, Tag.JOBLESS})
CHANGES = frozenset(
    {Tag.STOPPED, Tag.SOLD, Tag.CANCELLED, Tag.REPLACED, Tag.CHANGED, Tag.MOVED, Tag.JOINED, Tag.TURNED}
)
VERBS = STATES | CHANGES | STATUSES | {Tag.PAST, Tag.PLANNED}
NOUNS = frozenset({Tag.PERSON, Tag.ATTRIBUTE, Tag.EVENT, Tag.DEADLINE, Tag.FAVOURITE})
CONTENT = NOUNS | {Tag.RELATIVE, Tag.WORD, Tag.NUMBER, Tag.TIME, Tag.YEAR}
LINKS = frozenset({Tag.PREPOSITION, Tag.TO, Tag.FROM, Tag.BY})
WORK_LINKS = frozenset({"at", "for", "bei", "beim", "für", "en", "para", "chez", "pour"})
_SUBJECT_ENDS = VERBS | {Tag.NOT, Tag.NO_LONGER, Tag.COLON}
_BREAKS = frozenset({Tag.STOP, Tag.COMMA, Tag.AND})

_TOKEN = re.compile(r"[\w+](?:[\w+.@/'’:,-]*[\w+])?|[.;:!?,()\u2013\u2014]")  # noqa: RUF001 - both apostrophes are typed
_ELISION = re.compile(r"(l|d|n|s|j|c|m|t|qu|jusqu)'(?=\w\w)", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
_PUNCTUATION_TAGS = {",": Tag.COMMA, "(": Tag.COMMA, ")": Tag.COMMA, ":": Tag.COLON, "'s": Tag.POSSESSIVE}
_GERMAN_FAVOURITE = "lieblings"
_ABBREVIATED = word_set("dr mr mrs ms prof st nr no sr sra jr mme")


class Piece(NamedTuple):
    """A tagged word or phrase of a statement."""

    tag: Tag
    text: str
    """In lower case. Synonyms of a noun have the same text."""
    is_name: bool = False
    """Whether it begins with a capital or holds a digit."""


class Reading(NamedTuple):
    """A parsed statement."""

    language: int
    pieces: tuple[Piece, ...]
    tags: frozenset[Tag]
    owner: str | None
    """The person that the subject is or belongs to, if a pronoun names one."""
    subject: frozenset[str]
    """The subject without articles and owners: empty if the statement is about the owner."""
    subject_links: tuple[str, ...]
    subject_tags: frozenset[Tag]
    rest: tuple[Piece, ...]
    """The rest of the statement: from the verb on, followed by what comes before the subject."""
    verb: Piece | None
    """The first verb."""


_Entry = tuple[Phrase, Tag, str]


class _Vocabulary(NamedTuple):
    by_first_word: dict[str, list[_Entry]]
    contractions: dict[str, str]


def _vocabulary(language: Language) -> _Vocabulary:
    entries: dict[Phrase, tuple[Tag, str]] = {}
    for tag, text in language.phrases.items():
        entries.update((phrase, (tag, " ".join(phrase))) for phrase in split_phrases(text))
    for tag, text in language.nouns.items():
        for line in text.splitlines():
            names = list(split_phrases(line))
            entries.update((phrase, (tag, " ".join(names[0]))) for phrase in names)
    for owner, text in language.owners.items():
        entries.update((phrase, (Tag.OWNER, owner)) for phrase in split_phrases(text))
    index: dict[str, list[_Entry]] = {}
    for phrase in sorted(entries, key=len, reverse=True):
        index.setdefault(phrase[0], []).append((phrase, *entries[phrase]))
    return _Vocabulary(index, dict(language.contractions))


_VOCABULARIES = tuple(_vocabulary(language) for language in LANGUAGES)


def _languages_of_words() -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for number, vocabulary in enumerate(_VOCABULARIES):
        for word in vocabulary.by_first_word:
            found[word] = (*found.get(word, ()), number)
    return found


_KNOWN = _languages_of_words()


@lru_cache(maxsize=2048)
def read(text: str) -> Reading | None:
    """Return the parsed statement; None if the text is empty or too long."""
    words = _words(text)
    if not words or len(words) > MOST_WORDS:
        return None
    small = [word.lower() for word in words]
    language = _language(small)
    pieces = _pieces(words, small, _VOCABULARIES[language])
    return _reading(language, pieces)


def _words(text: str) -> list[str]:
    words: list[str] = []
    for word in _TOKEN.findall(text.replace("’", "'")):  # noqa: RUF001
        if "'" in word:
            words.extend(_without_apostrophe(word))
        elif word == "." and words and words[-1].lower() in _ABBREVIATED:
            continue
        elif word[0] in "Ll" and word.lower().startswith(_GERMAN_FAVOURITE) and len(word) > len(_GERMAN_FAVOURITE):
            words.extend((_GERMAN_FAVOURITE, word[len(_GERMAN_FAVOURITE) :]))
        else:
            words.append(word)
    return words


def _without_apostrophe(word: str) -> Iterator[str]:
    """Yield the parts of "Ana's" and "l'école", and "don't" as a whole."""
    if elided := _ELISION.match(word):
        yield elided[1]
        word = word[elided.end() :]
    if word.endswith("'s"):
        yield word[:-2]
        word = "'s"
    yield word


def _language(words: Iterable[str]) -> int:
    scores = [0] * len(LANGUAGES)
    for word in words:
        for number in _KNOWN.get(word, ()):
            scores[number] += 1
    return scores.index(max(scores))


def _pieces(words: Sequence[str], small: Sequence[str], vocabulary: _Vocabulary) -> tuple[Piece, ...]:
    if vocabulary.contractions:
        small = [vocabulary.contractions.get(word, word) for word in small]
    pieces: list[Piece] = []
    place = 0
    while place < len(small):
        entries = vocabulary.by_first_word.get(small[place])
        entry = _longest(entries, small, place) if entries else None
        if entry is not None:
            phrase, tag, text = entry
            pieces.append(Piece(tag, text, words[place][0].isupper()))
            place += len(phrase)
        else:
            pieces.append(_unknown(small[place], words[place]))
            place += 1
    return tuple(pieces)


def _longest(entries: Iterable[_Entry], small: Sequence[str], place: int) -> _Entry | None:
    for entry in entries:
        phrase = entry[0]
        if len(phrase) == 1 or tuple(small[place : place + len(phrase)]) == phrase:
            return entry
    return None


def _unknown(small: str, word: str) -> Piece:
    if small == "'s" or (len(word) == 1 and not word.isalnum()):
        return Piece(_PUNCTUATION_TAGS.get(small, Tag.STOP), small)
    if _YEAR.fullmatch(small):
        return Piece(Tag.YEAR, small, is_name=True)
    if small[0].isdigit():
        return Piece(Tag.NUMBER, small, is_name=True)
    return Piece(Tag.WORD, small, is_name=word[0].isupper() or (not small.isalpha() and any(map(str.isdigit, small))))


def _reading(language: int, pieces: tuple[Piece, ...]) -> Reading:
    begin = _after_circumstance(pieces)
    end = next((place for place in range(begin, len(pieces)) if pieces[place].tag in _SUBJECT_ENDS), None)
    if end is None:
        begin, end = 0, _guessed_subject_end(pieces)
    subject, rest = pieces[begin:end], pieces[end:]
    if not any(piece.tag in CONTENT or piece.tag is Tag.OWNER for piece in subject):
        subject, rest = _subject_after_verb(rest) if begin else ((), rest)
    return Reading(
        language,
        pieces,
        frozenset(piece.tag for piece in pieces),
        next((piece.text for piece in subject if piece.tag is Tag.OWNER), None),
        frozenset(piece.text for piece in subject if piece.tag in CONTENT),
        tuple(piece.text for piece in subject if piece.tag in LINKS),
        frozenset(piece.tag for piece in subject),
        rest + pieces[:begin],
        next((piece for piece in rest if piece.tag in VERBS or piece.tag is Tag.COLON), None),
    )


def _after_circumstance(pieces: Sequence[Piece]) -> int:
    """Return where the statement begins after words such as "Since the wedding"."""
    place = 0
    while place < len(pieces) and pieces[place].tag in {Tag.NOW, Tag.FILLER, Tag.COMMA}:
        place += 1
    if place == len(pieces) or pieces[place].tag not in {Tag.SINCE, Tag.PREPOSITION, Tag.BY, Tag.TO}:
        return place
    place += 1
    while place < len(pieces) and pieces[place].tag in {Tag.ARTICLE, Tag.FILLER}:
        place += 1
    while place < len(pieces) and pieces[place].tag in CONTENT | {Tag.STOP}:
        is_time = pieces[place].tag is not Tag.WORD
        place += 1
        if not is_time:
            break
    while place < len(pieces) and pieces[place].tag is Tag.COMMA:
        place += 1
    return place


def _subject_after_verb(rest: tuple[Piece, ...]) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Return the subject of "Seit Mai wohnt sie in Bonn", and the rest."""
    for place, piece in enumerate(rest):
        if piece.tag is Tag.OWNER:
            return (piece,), rest[:place] + rest[place + 1 :]
        if piece.tag not in VERBS:
            break
    return (), rest


def _guessed_subject_end(pieces: Sequence[Piece]) -> int:
    """Return the end of the subject of a statement without a known verb: after the leading name, pronoun or noun."""
    place = 0
    while place < len(pieces) and pieces[place].tag in {Tag.ARTICLE, Tag.OWNER, Tag.POSSESSIVE, Tag.NEW}:
        place += 1
    if place and pieces[place - 1].tag is Tag.OWNER:
        return place
    return min(place + 1, len(pieces))


def same_owner(one: str | None, other: str | None) -> bool:
    """Check whether two owners can be the same person."""
    return one == other or None in (one, other) or ANYONE in (one, other) or SELF in (one, other)


def same_subject(new: Reading, old: Reading, *, is_personal: bool = False) -> bool:
    """Check whether both have the same subject. Under a personal topic, "she" can be the person who was named."""
    if not same_owner(new.owner, old.owner):
        return False
    if new.subject == old.subject:
        if new.subject or new.language > 1:  # Spanish and French leave the pronoun out
            return not new.subject_links or not old.subject_links or new.subject_links == old.subject_links
        return new.owner is not None and old.owner is not None
    return is_personal and _refers_to(new, old)


def says_two_things(reading: Reading) -> bool:
    """Check whether the text makes two statements, of which only one could be updated."""
    pieces = reading.pieces
    for place, piece in enumerate(pieces):
        following = [other.tag for other in pieces[place + 1 :]]
        if piece.tag is Tag.STOP and any(tag in VERBS for tag in following):
            return True
        if piece.tag in {Tag.AND, Tag.COMMA} and following[:1] == [Tag.OWNER]:
            following = following[1:]
        if piece.tag in {Tag.AND, Tag.COMMA} and following and following[0] in VERBS:
            return True
    return False


def may_be_several(reading: Reading) -> bool:
    """Check whether there may be several of the subject and no name identifies it: a son, the younger sister."""
    return Tag.RELATIVE in reading.subject_tags and Tag.WORD not in reading.subject_tags


def _refers_to(new: Reading, old: Reading) -> bool:
    return not new.subject and new.owner not in (None, SELF) and old.owner is None and len(old.subject) == 1


def is_alike(one: Piece, other: Piece) -> bool:
    """Check whether two words are the same but for an ending: smokes, smoking. Names have no endings."""
    a, b = one.text, other.text
    if a == b:
        return True
    if Tag.NUMBER in (one.tag, other.tag) or (one.is_name and other.is_name):
        return False
    common = 0
    for first, second in zip(a, b, strict=False):
        if first != second:
            break
        common += 1
    endings = {a[common:], b[common:]} - {""}
    return common >= _SHORTEST_STEM and endings <= _ENDINGS


_SHORTEST_STEM = 3
_ENDINGS = word_set("e s t a o n er en em es ed ing st r ar ir as os an er ir é ée ez ent")


def clauses(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces between commas, full stops and conjunctions."""
    found: list[list[Piece]] = [[]]
    for piece in pieces:
        if piece.tag in _BREAKS:
            found.append([])
        else:
            found[-1].append(piece)
    return [clause for clause in found if clause]
