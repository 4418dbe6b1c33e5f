"""An id may be given as a prefix, as pages show it, if it is unique."""

import pytest

from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.domain.recall.memory_ids import resolved_id, short_id
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.samples import known_fact, known_preference

CAT, DOG, TONE = known_fact("Has a cat"), known_fact("Has a dog"), known_preference("tone", "brief")
KNOWN = UserSnapshot(1, {memory.id: memory for memory in (CAT, DOG, TONE)})


def test_the_id_on_a_page_names_the_memory() -> None:
    assert [resolved_id(short_id(one), KNOWN) for one in (CAT, DOG, TONE)] == [CAT.id, DOG.id, TONE.id]
    assert len(short_id(CAT)) == 8


@pytest.mark.parametrize("given", ["", "x", CAT.id[:7], CAT.id, "00000000", "pref:tone", "t-0123456789ab"])
def test_whole_short_and_unknown_ids_stay_unchanged(given: str) -> None:
    assert resolved_id(given, KNOWN) == given


def test_an_ambiguous_prefix_is_refused_with_the_ids() -> None:
    twins = UserSnapshot(1, {name: known_fact(name) for name in ("a", "b")})
    for sk, memory in twins.by_key.items():
        object.__setattr__(memory, "id", f"abcdefgh{sk}000")

    with pytest.raises(InvalidRequestError, match="abcdefgha000, abcdefghb000; give the whole id"):
        resolved_id("abcdefgh", twins)
