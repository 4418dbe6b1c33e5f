"""What each of the five tools answers, whoever offers it."""

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest

from mcp_memory_server import MEMORY_TOOLS, ForgottenError, InvalidRequestError, Memory, NotFoundError, Scope

pytestmark = pytest.mark.anyio

ANA = Scope("ana", "monday")
TOOLS = {tool.name: tool for tool in MEMORY_TOOLS}


async def use(memory: Memory, tool: str, **arguments: Any) -> dict[str, Any]:
    reply = await TOOLS[tool].call(memory, ANA, arguments)
    assert json.loads(json.dumps(reply)) == reply
    return reply


async def saved(memory: Memory, fact: str, **arguments: Any) -> str:
    return (await use(memory, "remember_fact", fact=fact, **arguments))["id"]


async def current(memory: Memory, topic: str | None = None) -> list[str]:
    return sorted(fact.text for fact in await memory.facts.all(ANA) if topic is None or fact.topic == topic)


async def test_a_correction_may_name_several_memories_and_says_what_it_replaced(memory: Memory) -> None:
    first = await saved(memory, "Ana's cat is called Mia.")
    second = await saved(memory, "Ana has one cat.")

    reply = await use(memory, "remember_fact", fact="Ana's cats are called Mia and Leo.", replaces=[first, second])

    assert reply["outcome"] == "superseded"
    assert sorted(reply["earlier"]) == ["Ana has one cat.", "Ana's cat is called Mia."]
    assert await current(memory) == ["Ana's cats are called Mia and Leo."]


@pytest.mark.parametrize("form", [str, lambda one: [one], lambda one: json.dumps([one])])
async def test_one_id_may_be_sent_in_any_form(memory: Memory, form: Any) -> None:
    wrong = await saved(memory, "Ana's dog is called Rex.")

    reply = await use(memory, "remember_fact", fact="Ana's dog is called Max.", replaces=form(wrong))

    assert reply["earlier"] == ["Ana's dog is called Rex."]


async def test_topic_replaces_what_stands_under_the_topic_without_an_id(memory: Memory) -> None:
    await saved(memory, "Ana's favourite colour is green.", topic="tastes/colours")

    reply = await use(
        memory, "remember_fact", fact="Ana loves orange best.", topic="tastes/colours", replaces=["topic"]
    )

    assert reply["earlier"] == ["Ana's favourite colour is green."]
    assert await current(memory) == ["Ana loves orange best."]


async def test_one_topic_holds_many_facts(memory: Memory) -> None:
    await saved(memory, "Ana is allergic to peanuts.", topic="health/allergies")

    reply = await use(memory, "remember_fact", fact="Ana is allergic to penicillin.", topic="health/allergies")

    assert reply["outcome"] == "learned"
    assert "earlier" not in reply
    assert len(await current(memory, "health/allergies")) == 2


async def test_what_says_nearly_the_same_is_named_so_that_a_conflict_is_seen_at_once(memory: Memory) -> None:
    tea = await saved(memory, "Ana drinks her tea without sugar.")
    await saved(memory, "Ana works at Globex.", topic="work/employer")

    reply = await use(memory, "remember_fact", fact="Ana drinks her tea with a lot of sugar.")

    assert reply["similar"] == [{"id": tea, "text": "Ana drinks her tea without sugar."}]
    again = await use(memory, "remember_fact", fact="Ana drinks her tea with a lot of sugar.")
    assert (again["outcome"], "similar" in again) == ("supported", False)


async def test_what_was_replaced_is_not_called_similar(memory: Memory) -> None:
    tea = await saved(memory, "Ana drinks her tea without sugar.")

    reply = await use(memory, "remember_fact", fact="Ana drinks her tea with a lot of sugar.", replaces=[tea])

    assert "similar" not in reply


async def test_the_same_sentence_with_until_ends_a_fact_and_keeps_it_as_history(memory: Memory) -> None:
    job = await saved(memory, "Ana works at Globex.", topic="work/employer", since="2019-03")

    reply = await use(memory, "remember_fact", fact="Ana works at Globex.", until="2026-02-20")

    (fact,) = [fact for fact in await memory.facts.history(ANA, "work/employer") if fact.text == "Ana works at Globex."]
    assert (reply["id"], reply["since"], reply["until"]) == (job, "2019-03", "2026-02-20")
    assert (fact.since, fact.until) == (date(2019, 3, 1), date(2026, 2, 20))


async def test_what_is_over_may_be_said_in_other_words_with_its_id(memory: Memory) -> None:
    job = await saved(memory, "Ana works at Globex.", topic="work/employer")

    reply = await use(memory, "remember_fact", fact="Ana worked at Globex.", replaces=[job], until="2026-02-20")

    assert reply["earlier"] == ["Ana works at Globex."]
    assert reply["until"] == "2026-02-20"


async def test_a_guess_that_comes_too_late_says_when_the_fact_ended(memory: Memory) -> None:
    await saved(memory, "Ana works at Globex.", topic="work/employer")
    await use(memory, "remember_fact", fact="Ana works at Globex.", until="2026-02-20")

    reply = await use(memory, "remember_fact", fact="Ana works at Globex.", topic="work/employer", source="inferred")

    assert (reply["outcome"], reply["until"]) == ("ended", "2026-02-20")


async def test_a_reminder_is_kept_with_its_day(memory: Memory) -> None:
    await saved(memory, "Ana has to renew her passport.", remind_on="2026-05-01")

    (fact,) = await memory.facts.all(ANA)
    assert (fact.remind_on, fact.session_id) == (date(2026, 5, 1), "monday")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"since": "soon"}, "since must be a date like 2026-03-02, 2026-03 or 2026, got 'soon'"),
        ({"since": "2026-03-02", "until": "2026-03-01"}, "until must not be before since"),
        ({"permanence": "inferred"}, "permanence must be one of 'permanent', 'durable', 'transient', got 'inferred'"),
        ({"source": "imported"}, "source must be one of 'user_stated', 'confirmed', 'inferred', got 'imported'"),
        ({"replaces": [7]}, "each of replaces must be text, got 7"),
        ({"replaces": {"id": "a"}}, "replaces must be a list, got an object"),
        ({"replaces": ["topic"]}, "topic"),
    ],
)
async def test_what_cannot_be_saved_is_refused_with_the_reason(
    memory: Memory, arguments: Mapping[str, Any], words: str
) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await use(memory, "remember_fact", fact="Ana likes tea.", **arguments)

    assert words in str(refused.value)
    assert await current(memory) == []


async def test_an_unknown_id_to_replace_saves_nothing(memory: Memory) -> None:
    known = await saved(memory, "Ana has one cat.")

    with pytest.raises(NotFoundError, match="nobody"):
        await use(memory, "remember_fact", fact="Ana has two cats.", replaces=[known, "nobody"])

    assert await current(memory) == ["Ana has one cat."]


async def test_a_password_is_refused_and_not_repeated_in_the_message(memory: Memory) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        await use(memory, "remember_fact", fact="Ana's AWS key is AKIAIOSFODNN7EXAMPLE.")

    assert "AKIA" not in str(refused.value)
    assert await current(memory) == []


async def test_a_preference_names_the_value_that_it_replaces(memory: Memory) -> None:
    await use(memory, "set_preference", key="Tone", value="brief")

    reply = await use(memory, "set_preference", key="tone", value="formal")

    assert (reply["value"], reply["earlier"]) == ("formal", "brief")


async def test_forget_says_what_it_removed_and_how_many_earlier_versions(memory: Memory) -> None:
    old = await saved(memory, "Ana lives in Lisbon.", topic="personal/location/city")
    new = await saved(memory, "Ana lives in Porto.", topic="personal/location/city", replaces=[old])

    reply = await use(memory, "forget", id=new)

    assert reply == {"status": "complete", "forgotten": "Ana lives in Porto.", "removed": 2, "earlier_versions": 1}
    with pytest.raises(ForgottenError):
        await saved(memory, "Ana lives in Porto.")


async def test_the_pages_of_the_context_lead_through_everything(memory: Memory) -> None:
    for number in range(60):
        await saved(memory, f"Ana has read book number {number} of the long list in her kitchen.")

    pages = [await use(memory, "load_context", max_tokens=300)]
    while "cursor" in pages[-1]:
        pages.append(await use(memory, "load_context", max_tokens=300, cursor=pages[-1]["cursor"]))

    text = "\n".join(page["context"] for page in pages)
    assert all(f"number {number} of" in text for number in range(60))


@pytest.mark.parametrize("tool", TOOLS)
async def test_no_tool_takes_an_argument_that_names_a_user(memory: Memory, tool: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"there is no argument 'user_id'.*\. The arguments are: "):
        await use(memory, tool, user_id="ben")
