"""What a person can look at in a client: resources in Markdown, and the prompt to go through them."""

import re
from urllib.parse import quote

import pytest
from mcp import Client
from mcp_types import TextContent, TextResourceContents

from tests.server.asking import LISBON, ask

pytestmark = pytest.mark.anyio

HOSTILE_TOPIC = "a#b:c%2F ?\n## Forged\t/🐈"


async def read(client: Client, uri: str) -> str:
    (contents,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert isinstance(contents, TextResourceContents)
    assert contents.mime_type == "text/markdown"
    return contents.text


async def test_the_resources_and_the_template_are_listed(client: Client) -> None:
    resources = (await client.list_resources()).resources
    (template,) = (await client.list_resource_templates()).resource_templates

    assert [resource.uri for resource in resources] == ["memory://context", "memory://preferences", "memory://facts"]
    assert template.uri_template == "memory://facts{/topic}"


async def test_an_empty_memory_says_so(client: Client) -> None:
    assert await read(client, "memory://facts") == "# All facts\n\nNone yet."
    assert await read(client, "memory://preferences") == "# All preferences\n\nNone yet."
    assert (await read(client, "memory://context")).endswith("Nothing is known yet.")


async def test_facts_tell_their_topic_source_date_and_id(client: Client) -> None:
    city = await ask(client, "remember_fact", **LISBON)
    loose = await ask(client, "remember_fact", fact="Ana has a cat.", source="inferred")

    assert (await read(client, "memory://facts")).splitlines()[2:] == [
        f"- Ana lives in Lisbon. (personal/location/city, user_stated, learned 2026-03-01, id {city['id']})",
        f"- Ana has a cat. (no topic, inferred, learned 2026-03-01, id {loose['id']})",
    ]


async def test_preferences_tell_who_set_them(client: Client) -> None:
    await ask(client, "set_preference", key="tone", value="brief\nand friendly")

    assert (await read(client, "memory://preferences")).splitlines()[2:] == ["- tone: brief and friendly (user)"]


async def test_the_context_is_the_page_that_load_context_gives(client: Client) -> None:
    await ask(client, "remember_fact", **LISBON)

    assert await read(client, "memory://context") == (await ask(client, "load_context"))["context"]


@pytest.mark.parametrize(
    "uri", ["memory://facts/personal", "memory://facts/personal%2Flocation", "memory://facts/personal/"]
)
async def test_a_topic_shows_what_lies_below_it_and_nothing_else(client: Client, uri: str) -> None:
    await ask(client, "remember_fact", **LISBON)
    await ask(client, "remember_fact", fact="Ana works at Trams.", topic="work/employer")

    page = await read(client, uri)

    assert "Ana lives in Lisbon." in page
    assert "Trams" not in page


async def test_a_hostile_topic_is_reached_by_its_percent_encoding_and_stays_on_its_line(client: Client) -> None:
    await ask(client, "remember_fact", fact="Ana likes odd names.", topic=HOSTILE_TOPIC)

    page = await read(client, f"memory://facts/{quote(HOSTILE_TOPIC, safe='')}")

    heading, blank, entry = page.splitlines()
    assert heading == "# Facts below a#b:c%2F ? ## Forged /🐈"
    assert blank == ""
    assert entry.startswith("- Ana likes odd names. (a#b:c%2F ? ## Forged /🐈, user_stated")


async def test_a_change_is_in_the_next_reading(client: Client) -> None:
    before = await read(client, "memory://facts")
    await ask(client, "remember_fact", **LISBON)

    assert "Lisbon" not in before
    assert "Lisbon" in await read(client, "memory://facts")


async def test_what_is_read_is_never_offered_to_a_shared_cache(client: Client) -> None:
    read = await client.read_resource("memory://context")

    assert read.cache_scope == "private"


async def test_the_prompt_asks_the_model_to_go_through_everything(client: Client) -> None:
    (listed,) = (await client.list_prompts()).prompts
    (message,) = (await client.get_prompt(listed.name)).messages

    assert listed.name == "review_memory"
    assert message.role == "user"
    assert isinstance(message.content, TextContent)
    assert all(tool in message.content.text for tool in ("load_context", "recall", "remember_fact", "forget"))


async def test_what_the_prompt_says_about_ids_works_with_what_load_context_shows(client: Client) -> None:
    await ask(client, "remember_fact", **LISBON)
    await ask(client, "set_preference", key="tone", value="brief")
    (shown,) = re.findall(r"Ana lives in Lisbon\..*\[(\w+)\]", (await ask(client, "load_context"))["context"])

    changed = await ask(client, "remember_fact", fact="Ana lives in Porto.", replaces=[shown])
    forgotten = await ask(client, "forget", id="pref:tone")

    assert changed["earlier"] == ["Ana lives in Lisbon."]
    assert forgotten["forgotten"] == "tone: brief"
    (shown,) = re.findall(r"Ana lives in Porto\..*\[(\w+)\]", (await ask(client, "load_context"))["context"])
    assert (await ask(client, "forget", id=shown))["forgotten"] == "Ana lives in Porto."
