"""A reply keeps the budget of its reader and returns as much as fits."""

from dataclasses import replace
from datetime import date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import Fact, ended
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import ever_shorter
from mcp_memory_server.domain.recall.memories import StoredMemory, from_fact
from mcp_memory_server.domain.recall.replies.answers import (
    CHARACTERS_A_TOKEN,
    Recalled,
    check_budget,
    recollection_of,
    reply_text,
)
from mcp_memory_server.domain.recall.replies.cursors import Position, position_from
from mcp_memory_server.domain.recall.replies.reply_builder import SHORTEST_LAST, ReplyBuilder
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.generated import budgets, count, memories, thorough
from tests.domain.samples import CITY, DAY, NOON, fact, known_fact, known_preference

COMPLETE = Recalled(Status.COMPLETE, ())
PARTIAL = Recalled(Status.PARTIAL, (), missing=("12345 stored memories could not be read",))

answers = st.sampled_from([COMPLETE, PARTIAL])


def fitted(found: list[StoredMemory], max_tokens: int, answer: Recalled = COMPLETE) -> Recalled:
    reply = ReplyBuilder(answer, len(found), (), count, max_tokens)
    fitting = 0
    while fitting < len(found) and reply.add(recollection_of(found[fitting], NOON)):
        fitting += 1
    return reply.build(len(found) - fitting, Position())


@thorough
@given(st.lists(memories, max_size=12), answers, budgets)
def test_the_whole_reply_keeps_the_budget(found: list[StoredMemory], answer: Recalled, max_tokens: int) -> None:
    fit = fitted(found, max_tokens, answer)

    assert count(reply_text(fit.to_reply())) <= max_tokens
    assert len(fit.memories) + fit.more == len(found)
    assert (fit.status, fit.missing) == (answer.status, answer.missing)


@thorough
@given(st.lists(memories, min_size=1, max_size=4), answers, budgets)
def test_a_reply_is_empty_only_if_even_the_best_memory_cut_short_does_not_fit(
    found: list[StoredMemory], answer: Recalled, max_tokens: int
) -> None:
    fit = fitted(found, max_tokens, answer)

    *_, shortest = ever_shorter(found[0].text)
    cut = replace(recollection_of(found[0], NOON), text=shortest)
    alone = replace(answer, memories=(cut,), more=len(found) - 1)
    assert fit.memories or count(reply_text(alone.to_reply())) > max_tokens


@given(st.lists(memories, max_size=10), budgets)
@example([], 50)
def test_the_order_of_memories_is_kept(found: list[StoredMemory], max_tokens: int) -> None:
    ids = [memory.id for memory in found]
    positions = iter(ids)

    assert all(memory.id in positions for memory in fitted(found, max_tokens).memories)


def test_everything_is_returned_if_there_is_room() -> None:
    reply = fitted([known_fact("Lives in Bern", CITY), known_preference("tone", "brief")], 800).to_reply()

    assert reply == {
        "status": "complete",
        "memories": [
            {
                "id": reply["memories"][0]["id"],
                "text": "Lives in Bern",
                "topic": CITY,
                "learned": "2026-03-01",
                "confidence": 0.9,
            },
            {
                "id": "pref:tone",
                "text": "tone: brief",
                "kind": "preference",
                "learned": "2026-03-01",
                "confidence": 1.0,
            },
        ],
    }


def shown(known: Fact, *, days: int = 0, as_of: datetime | None = None) -> dict[str, object]:
    reply = recollection_of(from_fact(known), NOON + days * DAY, as_of=as_of).to_reply()
    return {name: value for name, value in reply.items() if name not in ("id", "text", "topic", "confidence")}


def test_a_fact_shows_separately_when_it_is_true_and_when_it_was_learned() -> None:
    dates = {"since": date(2019, 10, 3), "until": date(2026, 4, 1), "remind_on": date(2026, 3, 20)}
    dated = replace(fact(), **dates)  # type: ignore[arg-type]

    assert shown(dated) == {
        "since": "2019-10-03",
        "until": "2026-04-01",
        "remind_on": "2026-03-20",
        "learned": "2026-03-01",
    }


def test_a_past_fact_says_so_and_until_when_it_was_true_at_the_latest() -> None:
    superseded = ended(fact(), NOON + 5 * DAY)
    dentist = fact("Ana sees the dentist on 2026-03-10.")

    assert shown(superseded) == {"past": True, "until": "2026-03-06", "learned": "2026-03-01"}
    assert shown(dentist) == {"learned": "2026-03-01"}
    assert shown(dentist, days=10) == {"past": True, "until": "2026-03-10", "learned": "2026-03-01"}


def test_a_fact_learned_after_the_time_asked_about_says_so() -> None:
    before = NOON - 900 * DAY

    assert shown(fact(), as_of=before) == {"learned": "2026-03-01", "learned_later": True}
    assert shown(replace(fact(), since=date(2019, 1, 1)), as_of=before) == {
        "since": "2019-01-01",
        "learned": "2026-03-01",
    }


def test_a_long_memory_is_shortened_so_that_others_have_room() -> None:
    reply = ReplyBuilder(COMPLETE, 2, {"violin"}, count, 400)

    added = [
        reply.add(recollection_of(known_fact(text), NOON))
        for text in ("long " * 400 + "violin " + "long " * 400, "short")
    ]
    fit = reply.build(0, Position())

    assert added == [True, True]
    assert "violin" in fit.memories[0].text
    assert (fit.memories[0].text[0], fit.memories[0].text[-1], fit.memories[1].text) == ("…", "…", "short")


def test_the_rest_can_be_fetched_with_a_cursor() -> None:
    fit = fitted([known_fact(f"fact {number}") for number in range(40)], 200)

    place = position_from(fit.cursor)
    assert (place.returned, place.last) == (len(fit.memories), fit.memories[-1].id)
    assert fitted([known_fact("fact")], 200).cursor is None


def test_the_last_one_is_cut_to_the_room_that_is_left_unless_that_is_hardly_any() -> None:
    memories = [known_fact(f"{number}: " + "the long story of a violin " * 20) for number in range(9)]

    fits = [fitted(memories, max_tokens) for max_tokens in range(200, 400, 5)]

    lengths = [len(one.text) for fit in fits for one in fit.memories]
    left_over = [
        budget - count(reply_text(fit.to_reply())) for budget, fit in zip(range(200, 400, 5), fits, strict=True)
    ]
    frame = count(reply_text(recollection_of(replace(memories[0], text=""), NOON).to_reply()))
    assert min(lengths) >= SHORTEST_LAST * CHARACTERS_A_TOKEN - 10
    assert max(left_over) < frame + SHORTEST_LAST + 12
    assert all(one.text.endswith("…") for fit in fits for one in fit.memories)


def test_if_none_fits_the_best_one_is_cut_and_says_so() -> None:
    fit = fitted([known_fact("best " * 500), known_fact("next " * 500)], 120)

    assert len(fit.memories) == 1
    assert fit.memories[0].text.startswith("best best")
    assert fit.memories[0].text.endswith("…")
    assert fit.more == 1


@pytest.mark.parametrize("max_tokens", [-1, 0, 49, 20_001])
def test_an_unreasonable_budget_is_refused(max_tokens: int) -> None:
    with pytest.raises(InvalidRequestError, match="max_tokens must be 50 to 20,000"):
        check_budget(max_tokens)
