"""Recognise the facts that no conversation may start without: who the user is, dangers to health, how to answer.

A fact is recognised by its topic and, because topics are free and often missing, by the words of its text. The rules
are few and know eight languages. They need not be complete: a fact that they miss is still ranked by its worth.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mcp_memory_server.domain.facts.essential_cues import (
    BORN_HINTS,
    BORN_PATTERN,
    BORN_UNSPACED,
    CONDITION_HINTS,
    CONDITION_PATTERN,
    CONDITION_UNSPACED,
    CONDITION_WORDS,
    DIET_HINTS,
    DIET_PATTERN,
    DIET_UNSPACED,
    DIET_WORDS,
    HARMLESS_PATTERN,
    HOME_HINTS,
    HOME_PATTERN,
    HOME_UNSPACED,
    HOUSEHOLD_UNSPACED,
    HOUSEHOLD_WORDS,
    HOUSING_HINTS,
    HOUSING_PATTERN,
    MAY_KILL_UNSPACED,
    MAY_KILL_WORDS,
    NAME_HINTS,
    NAME_PATTERN,
    NAME_UNSPACED,
    NOT_HOUSEHOLD_UNSPACED,
    OTHER_PEOPLE_TOPICS,
    OTHER_PEOPLE_UNSPACED,
    OTHER_PEOPLE_WORDS,
    OUTSIDER_TOPICS,
    POSSESSIVES,
    REACTION_UNSPACED,
    REACTION_WORDS,
    TOPICS,
    WORK_HINTS,
    WORK_PATTERN,
    WORK_UNSPACED,
)
from mcp_memory_server.domain.facts.essential_kinds import Essential

SUBJECT_WORDS = 6
"""The subject of a sentence is among its first words."""
SUBJECT_CHARACTERS = 6
"""The same in languages without spaces."""
PREFIX_LENGTH = 4
"""Letters of a word that are compared first, because most facts contain no cue."""

_WORD = re.compile(r"[^\W\d_]+")
_FIRST_UNSPACED_CHARACTER = "\u2e80"
_NO_TOPIC: frozenset[str] = frozenset()


def essential_of(topic: str | None, text: str) -> Essential | None:
    """Return what kind of essential fact this is; None if a conversation may start without it."""
    topic_parts = _NO_TOPIC if topic is None else frozenset(topic.casefold().replace(" ", "_").split("/"))
    text = text if text.isascii() else text.replace("\u2019", "'")
    words = _WORD.findall(text.casefold())
    is_unspaced = not text.isascii() and max(text) >= _FIRST_UNSPACED_CHARACTER
    prefixes = frozenset(word[:PREFIX_LENGTH] for word in words)
    fact = _FactText(topic_parts, words, prefixes, text if is_unspaced else "", text)
    if fact.has_topic(Essential.MANNER):
        return Essential.MANNER
    danger = _danger(fact)
    return danger if danger is not None else _person(fact)


@dataclass(frozen=True)
class _FactText:
    """The topic and the text of a fact, parsed once. ``unspaced`` is the text if it is in a language without spaces."""

    topic_parts: frozenset[str]
    words: list[str]
    prefixes: frozenset[str]
    unspaced: str
    text: str

    def has_topic(self, kind: Essential) -> bool:
        return not self.topic_parts.isdisjoint(TOPICS[kind])

    def is_about_others(self, topics: frozenset[str]) -> bool:
        subject = self.words[:SUBJECT_WORDS]
        if "expecting" in subject:  # "is expecting a son" is about the mother
            subject = subject[: subject.index("expecting")]
        if not self.topic_parts.isdisjoint(topics) or not OTHER_PEOPLE_WORDS.isdisjoint(subject):
            return True
        return _contains_any(OTHER_PEOPLE_UNSPACED, self.unspaced[:SUBJECT_CHARACTERS])


class _WordCues:
    """Cues that are whole words, or beginnings of words with a trailing ``*``."""

    def __init__(self, cues: frozenset[str]) -> None:
        self._whole = frozenset(cue for cue in cues if not cue.endswith("*"))
        self._beginnings = tuple(cue[:-1] for cue in cues if cue.endswith("*"))
        self._prefixes = frozenset(cue[:PREFIX_LENGTH] for cue in (*self._whole, *self._beginnings))

    def are_in(self, fact: _FactText) -> bool:
        if self._prefixes.isdisjoint(fact.prefixes):
            return False
        return any(word in self._whole or word.startswith(self._beginnings) for word in fact.words)


_REACTION_CUES, _CONDITION_CUES = _WordCues(REACTION_WORDS), _WordCues(CONDITION_WORDS)
_MAY_KILL_CUES, _DIET_CUES = _WordCues(MAY_KILL_WORDS), _WordCues(DIET_WORDS)
_PERSON_CUES = (
    (Essential.NAME, NAME_HINTS, NAME_PATTERN, NAME_UNSPACED),
    (Essential.BORN, BORN_HINTS, BORN_PATTERN, BORN_UNSPACED),
    (Essential.HOME, HOME_HINTS, HOME_PATTERN, HOME_UNSPACED),
    (Essential.HOME_MORE, HOUSING_HINTS, HOUSING_PATTERN, ()),
    (Essential.WORK, WORK_HINTS, WORK_PATTERN, WORK_UNSPACED),
)


def _danger(fact: _FactText) -> Essential | None:
    if _is_reaction(fact):
        return _reaction_of(fact)
    if _is_condition(fact):
        return Essential.CONDITION_OF_OTHERS if fact.is_about_others(OTHER_PEOPLE_TOPICS) else Essential.CONDITION
    if _is_diet(fact):
        return Essential.DIET_OF_OTHERS if fact.is_about_others(OTHER_PEOPLE_TOPICS) else Essential.DIET
    return Essential.HEALTH if fact.has_topic(Essential.HEALTH) else None


def _is_reaction(fact: _FactText) -> bool:
    found = (
        _REACTION_CUES.are_in(fact)
        or _contains_any(REACTION_UNSPACED, fact.unspaced)
        or fact.has_topic(Essential.REACTION)
    )
    return found and (_MAY_KILL_CUES.are_in(fact) or not HARMLESS_PATTERN.search(fact.text))


def _reaction_of(fact: _FactText) -> Essential:
    if not fact.topic_parts.isdisjoint(OUTSIDER_TOPICS):
        return Essential.CONDITION_OF_OTHERS
    if _MAY_KILL_CUES.are_in(fact) or _contains_any(MAY_KILL_UNSPACED, fact.unspaced):
        return Essential.REACTION
    return Essential.REACTION_OF_OTHERS if fact.is_about_others(OTHER_PEOPLE_TOPICS) else Essential.REACTION


def _is_condition(fact: _FactText) -> bool:
    return (
        _CONDITION_CUES.are_in(fact)
        or _contains_any(CONDITION_UNSPACED, fact.unspaced)
        or fact.has_topic(Essential.CONDITION)
        or _matches(CONDITION_HINTS, CONDITION_PATTERN, fact)
    )


def _is_diet(fact: _FactText) -> bool:
    return (
        _DIET_CUES.are_in(fact)
        or _contains_any(DIET_UNSPACED, fact.unspaced)
        or fact.has_topic(Essential.DIET)
        or _matches(DIET_HINTS, DIET_PATTERN, fact)
    )


def _matches(hints: frozenset[str], pattern: re.Pattern[str], fact: _FactText) -> bool:
    return not hints.isdisjoint(fact.words) and pattern.search(fact.text) is not None


def _person(fact: _FactText) -> Essential | None:
    for kind in (Essential.NAME, Essential.BORN, Essential.HOME, Essential.WORK, Essential.HOUSEHOLD):
        if fact.has_topic(kind):
            return kind
    for kind, hints, pattern, cues in _PERSON_CUES:
        is_stated = _matches(hints, pattern, fact) or _contains_any(cues, fact.unspaced)
        if is_stated and _is_about_the_user(fact, kind, hints):
            return kind
    if _is_household(fact):
        return Essential.HOUSEHOLD
    return next((kind for kind in (Essential.HOME_MORE, Essential.WORK_MORE) if fact.has_topic(kind)), None)


def _is_about_the_user(fact: _FactText, kind: Essential, hints: frozenset[str]) -> bool:
    """Check whether the sentence is about the user, and not about a person mentioned later in it."""
    if fact.unspaced or kind in (Essential.NAME, Essential.BORN):
        return not fact.is_about_others(OUTSIDER_TOPICS)
    place = next(place for place, word in enumerate(fact.words) if word in hints)
    before = fact.words[:place]
    is_about_others = not (OTHER_PEOPLE_WORDS.isdisjoint(before) and OUTSIDER_TOPICS.isdisjoint(fact.topic_parts))
    return place <= SUBJECT_WORDS and not is_about_others and POSSESSIVES.isdisjoint(before[:2])


def _is_household(fact: _FactText) -> bool:
    # A leading possessive is skipped: "son" is French for "his".
    first = 1 if fact.words[:1] and fact.words[0] in POSSESSIVES else 0
    if not HOUSEHOLD_WORDS.isdisjoint(fact.words[first:SUBJECT_WORDS]):
        return True
    beginning = fact.unspaced[:SUBJECT_CHARACTERS]
    return _contains_any(HOUSEHOLD_UNSPACED, beginning) and not _contains_any(NOT_HOUSEHOLD_UNSPACED, beginning)


def _contains_any(cues: Iterable[str], unspaced: str) -> bool:
    return bool(unspaced) and any(cue in unspaced for cue in cues)
