"""The scripted fortnight: what an agent is told at the start of each session, and what it must not be told."""

import asyncio
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mcp_memory_server import Settings, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens

EXAMPLE = Path(__file__).parents[2] / "examples" / "fortnight.py"


def loaded() -> ModuleType:
    specification = importlib.util.spec_from_file_location("fortnight", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["fortnight"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def greetings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """What each user's sessions began with, in order."""
    example, folder = loaded(), tmp_path_factory.mktemp("fortnight")

    async def run() -> list[Any]:
        clock = example.Clock()
        settings = Settings(table=f"sqlite://{folder}/memory.db", summarizer="none")
        async with open_memory(settings, now=clock) as memory:
            return [greeting async for greeting in example.fortnight(memory, clock)]

    told = asyncio.run(run())
    assert len(told) == 60
    return {user: [one for one in told if one.user == user] for user in example.USERS}


def texts(greetings: dict[str, list[Any]], user: str, first: int = 0, upto: int | None = None) -> list[str]:
    return [one.text for one in greetings[user][first:upto]]


def test_every_page_is_short(greetings: dict[str, list[Any]]) -> None:
    sizes = [count_tokens(one.text) for told in greetings.values() for one in told]

    assert max(sizes) < 600


def test_nobody_is_told_anything_before_the_first_session(greetings: dict[str, list[Any]]) -> None:
    assert all("Nothing is known yet." in told[0].text for told in greetings.values())
    assert all("## Last conversation" in one.text for told in greetings.values() for one in told[1:])


def test_the_employer_that_was_superseded_is_not_told_again(greetings: dict[str, list[Any]]) -> None:
    assert all("works at Acme" in text for text in texts(greetings, "ana", 1, 8))
    assert all("Globex" in text for text in texts(greetings, "ana", 8))
    assert not [text for text in texts(greetings, "ana", 8) if "acme" in text.lower()]


def test_the_address_that_was_forgotten_is_not_told_again(greetings: dict[str, list[Any]]) -> None:
    assert all("Rose Street" in text for text in texts(greetings, "ana", 5, 12))
    assert not [text for text in texts(greetings, "ana", 12) if "rose" in text.lower() or "Lisbon" in text]


def test_the_question_is_open_until_it_is_answered(greetings: dict[str, list[Any]]) -> None:
    still_open = "## Still open\n- Does the hotel in Porto allow my dog Rex in the dining room?"

    assert all(still_open in text for text in texts(greetings, "ana", 3, 17))
    assert not [text for text in texts(greetings, "ana", 17) if "Still open" in text]
    assert "on a leash" in texts(greetings, "ana")[17]


def test_what_was_said_and_never_saved_is_known(greetings: dict[str, list[Any]]) -> None:
    assert all("I prefer trains to planes" in text for text in texts(greetings, "ben", 2))
    assert all("lives in Vienna" in text for text in texts(greetings, "ben", 10))
    assert not [text for text in texts(greetings, "ben", 10) if "Hamburg" in text]


def test_nobody_is_told_of_anybody_else(greetings: dict[str, list[Any]]) -> None:
    own = {
        "ana": ("Acme", "Globex", "Rex", "Rose", "tax", "cake"),
        "ben": ("Hamburg", "Vienna", "chess", "train"),
        "chloé": ("orchids", "compost", "coffee", "tea."),
    }

    for user, told in greetings.items():
        others = [word for other, words in own.items() if other != user for word in words]
        assert not [(one.number, word) for one in told for word in others if word in one.text]
