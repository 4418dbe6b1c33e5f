"""Two different ids never share a key or a key prefix, whatever characters they have."""

import itertools
import random
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.facts.preferences import Preference, SetBy
from mcp_memory_server.domain.facts.topics import MAX_TOPIC_BYTES, checked_topic, is_under
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.domain.kernel.scope import MAX_ID_BYTES, Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema import keys
from tests.domain.samples import NOON

CASES = 12_000
LEAST_CASES = 10_000
ULID = "01JNB3X8M0ABCDEFGHJKMNPQRS"

SIGNS = [
    "#", ":", "/", "%", "~", "?", "$", "%23", "%2523", "%2F", "%7E", "\x00", "\x01", "\x1f", "\x7f", "\x85", "\n",
    "\r\n", "\t", " ",
    "🦊", "\U0010ffff", "\uffff", "\ue000", "\u200b", "\u202e", "a", "\u0430", "A", "b", "ab", "é",
    "e\u0301", "ﬁ", "fi", "K", "\u212a",
    "USER#", "FACT#", "PREF#", "PAST#", "NOTE#", "PROFILE", "東", "..", "\\", "'", '"', "%s", "{}",
]  # fmt: skip

Triple = tuple[str, str, str]


def hostile(chance: random.Random) -> str:
    """Return an id that someone made to break in: signs that join keys, look-alikes, too long, or nothing at all."""
    match chance.randrange(20):
        case 0:
            return chance.choice(["", " ", "\n", "\t \r\n", "\u3000"])
        case 1:
            return chance.choice(["\ud800", "a\udfff", "\ud83e"])
        case 2:
            return chance.choice(SIGNS) * chance.randrange(100, 300)
        case 3:
            return unicodedata.normalize(chance.choice(["NFC", "NFD"]), "Zoë#é/ü")
        case _:
            return "".join(chance.choices(SIGNS, k=chance.randrange(1, 5)))


def hostile_triples() -> Iterator[Triple]:
    """Yield triples, among them those whose parts were shifted from one id into the next."""
    chance = random.Random(20260301)
    while True:
        user, topic, key = hostile(chance), hostile(chance), hostile(chance)
        yield user, topic, key
        yield user + "#" + topic, key, topic
        yield user, topic + "#" + key, key
        yield user, topic + "/" + key, topic


def stored_at(triple: Triple) -> dict[Key, tuple[str, ...]]:
    """Return every key that these ids lead to, with what it is for."""
    user, topic, key = triple
    scope = Scope(user)
    checked_topic(topic)
    Preference(key, "value", SetBy.USER, NOON)
    return {
        keys.profile_key(scope): ("profile", user),
        keys.fact_key(scope, "0123456789ab"): ("fact", user),
        keys.possible_fact_key(scope, "0123456789ab"): ("candidate", user),
        keys.past_fact_key(keys.fact_key(scope, "0123456789ab"), NOON): ("past", user),
        keys.legacy_fact_key(scope, topic): ("fact of an earlier release", user, topic),
        keys.past_fact_key(keys.legacy_fact_key(scope, topic), NOON): ("past of an earlier release", user, topic),
        keys.preference_key(scope, key): ("preference", user, key.casefold()),
        keys.note_key(scope, NoteKind.FEEDBACK, key): ("feedback", user, key),
        keys.tombstone_key(scope, "0123456789ab"): ("forgotten", user),
        keys.active_chat_key(scope, key): ("active chat", user, key),
        keys.past_chat_key(scope, key, ULID): ("past chat", user, key),
        keys.tool_call_key(scope, ULID): ("tool call", user),
        Key(keys.chat_index(scope, ULID), "index"): ("chat in the index", user),
        Key(keys.tools_index(scope, key), "index"): ("tools in the index", user, key),
    }


@pytest.fixture(scope="module")
def accepted() -> list[Triple]:
    return [triple for triple in itertools.islice(hostile_triples(), 2 * CASES) if is_accepted(triple)]


def is_accepted(triple: Triple) -> bool:
    try:
        stored_at(triple)
    except InvalidRequestError:
        return False
    return True


def test_no_two_ids_share_a_key(accepted: list[Triple]) -> None:
    owners: dict[Key, tuple[str, ...]] = {}

    collisions = [
        (owners[key], owner)
        for triple in accepted
        for key, owner in stored_at(triple).items()
        if owners.setdefault(key, owner) != owner
    ]

    assert len(accepted) >= LEAST_CASES
    assert len(set(accepted)) >= LEAST_CASES * 0.8
    assert collisions == []


def test_no_topic_is_found_below_another_that_is_not_its_beginning(accepted: list[Triple]) -> None:
    scope = Scope("anna")
    topics = {keys.legacy_fact_key(scope, topic).sk: topic for _, topic, _ in accepted}
    in_order = sorted(topics)

    def found_below(topic: str) -> set[str]:
        prefix = keys.legacy_fact_key(scope, topic).sk + "/"
        hits = itertools.takewhile(lambda sk: sk.startswith(prefix), in_order[bisect_left(in_order, prefix) :])
        return {topics[sk] for sk in hits}

    wrong = [
        (topic, below)
        for topic in topics.values()
        for below in found_below(topic)
        if not is_under(below, topic) or below == topic
    ]
    assert len(accepted) >= LEAST_CASES
    assert wrong == []


def test_the_history_of_a_topic_is_never_found_under_another(accepted: list[Triple]) -> None:
    scope = Scope("anna")
    topics = {keys.past_fact_key(keys.legacy_fact_key(scope, topic), NOON).sk: topic for _, topic, _ in accepted}
    in_order = sorted(topics)

    def found(topic: str) -> list[str]:
        prefix = keys.past_facts_prefix(keys.legacy_fact_key(scope, topic).sk)
        hits = itertools.takewhile(lambda sk: sk.startswith(prefix), in_order[bisect_left(in_order, prefix) :])
        return [topics[sk] for sk in hits]

    assert [topic for topic in topics.values() if found(topic) != [topic]] == []


def test_every_refusal_names_what_is_wrong() -> None:
    refusals: list[str] = []
    for triple in itertools.islice(hostile_triples(), CASES):
        try:
            stored_at(triple)
        except InvalidRequestError as refusal:
            refusals.append(str(refusal))

    assert len(refusals) > 1000
    assert all(message.startswith(("user_id ", "topic ", "preference key ")) for message in refusals)
    assert all(any(say in message for say in (" must be ", " is not valid Unicode")) for message in refusals)


@given(st.text(max_size=40))
def test_what_is_encoded_can_be_decoded(part: str) -> None:
    assert keys.decoded(keys.encoded(part)) == part


def test_hostile_ids_can_be_decoded(accepted: list[Triple]) -> None:
    assert [part for triple in accepted for part in triple if keys.decoded(keys.encoded(part)) != part] == []


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_an_encoded_id_contains_no_separator_of_keys(part: str) -> None:
    encoded = keys.encoded(part)

    assert not set(encoded) & set("#/~ \n\x00\x7f")
    assert all(character.isprintable() or ord(character) > 127 for character in encoded)


@pytest.mark.parametrize("sign", ["#", "a", "\x00", "%", "é", "🦊"])
def test_the_longest_ids_fit_into_every_key(sign: str) -> None:
    longest_id = sign * (MAX_ID_BYTES // len(sign.encode()))
    longest_topic = sign * (MAX_TOPIC_BYTES // len(sign.encode()))

    assert len(stored_at((longest_id, longest_topic, longest_id))) == 14
    assert keys.note_key(Scope(longest_id), NoteKind.PATTERN, longest_id)


@pytest.mark.parametrize("sibling", ["ab", "a#", "a~", "a%2Fb", "a?", "a\x00", "A", "a "])
def test_the_key_range_of_a_topic_contains_none_of_its_siblings(sibling: str) -> None:
    below = keys.legacy_fact_key(Scope("anna"), "a").sk + "/"

    assert not keys.legacy_fact_key(Scope("anna"), sibling).sk.startswith(below)
    assert keys.legacy_fact_key(Scope("anna"), f"a/{sibling}").sk.startswith(below)


def test_the_key_of_an_earlier_release_is_recognised() -> None:
    scope = Scope("anna")
    topic, own = keys.legacy_fact_key(scope, "a~b/c"), keys.fact_key(scope, "0123456789ab")

    assert keys.legacy_place_of(topic.sk) == keys.legacy_place_of(keys.past_fact_key(topic, NOON).sk) == topic.sk
    assert keys.legacy_place_of(own.sk) is keys.legacy_place_of(keys.past_fact_key(own, NOON).sk) is None
    assert keys.legacy_place_of("FACT?#a#0123456789ab") is keys.legacy_place_of("PREF#a") is None
    assert keys.is_legacy_fact("FACT?#a#0123456789ab")


@pytest.mark.parametrize(("one", "other"), [("Tone", "tone"), ("ANTWORT/Länge", "antwort/länge"), ("ẞ", "ss")])
def test_preference_keys_that_differ_only_in_case_are_those_of_one_preference(one: str, other: str) -> None:
    scope = Scope("anna")

    assert keys.preference_key(scope, one) == keys.preference_key(scope, other)


@given(
    st.timedeltas(timedelta(days=-300_000), timedelta(days=300_000)),
    st.timedeltas(timedelta(days=-300_000), timedelta(days=300_000)),
)
def test_the_order_of_timestamps_is_the_order_of_time(one: timedelta, other: timedelta) -> None:
    assert (keys.timestamp(NOON + one) < keys.timestamp(NOON + other)) == (one < other)


def test_all_memories_of_a_user_lie_in_one_key_range_history_included() -> None:
    scope = Scope("anna")
    inside = [
        keys.legacy_fact_key(scope, "\U0010ffff"),
        keys.fact_key(scope, "0"),
        keys.possible_fact_key(scope, "0"),
        keys.past_fact_key(keys.fact_key(scope, "0"), NOON),
        keys.past_fact_key(keys.legacy_fact_key(scope, "a"), NOON),
        keys.note_key(scope, NoteKind.PATTERN, "\U0010ffff"),
        keys.preference_key(scope, "\U0010ffff"),
        keys.summary_key(scope, "session", "\U0010ffff"),
    ]
    outside = [
        keys.profile_key(scope),
        keys.spent_key(scope, NOON.date()),
        keys.tombstone_key(scope, "0"),
        keys.active_chat_key(scope, "\U0010ffff"),
        keys.past_chat_key(scope, "\U0010ffff", ULID),
    ]

    def holds_memory(key: Key) -> bool:
        return keys.is_in_user_key_range(key.sk) and not key.sk.startswith(keys.BOOKKEEPING)

    assert [holds_memory(key) for key in inside] == [True] * 8
    assert [holds_memory(key) for key in outside] == [False] * 5
