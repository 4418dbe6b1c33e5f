"""A broad query is searched part by part, a sentence as a whole."""

import pytest

from mcp_memory_server.domain.language.aspects import MOST_ASPECTS, aspects_of


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("food: diet, allergies, dislikes", ["food diet", "food allergies", "food dislikes"]),
        ("work project, boss, what he likes", ["work project", "boss", "what he likes"]),
        ("allergies and medication", ["allergies", "medication"]),
        ("Haustiere und Hobbys", ["Haustiere", "Hobbys"]),
        ("仕事、趣味", ["仕事", "趣味"]),
        ("Where does Ana work? Who is her boss?", ["Where does Ana work?", "Who is her boss?"]),
    ],
)
def test_a_list_is_searched_part_by_part(query: str, parts: list[str]) -> None:
    assert aspects_of(query) == parts


@pytest.mark.parametrize(
    "query",
    [
        "allergies",
        "Where does Ana live?",
        "We are taking Ana out to eat, is a seafood place fine?",
        "I told you about my flight, my hotel and my car. When do I leave?",
        "the long trip that we made together last summer, and everything that went wrong on the way",
        "",
        ", ,",
    ],
)
def test_what_has_one_aspect_is_searched_as_a_whole(query: str) -> None:
    assert aspects_of(query) == []


def test_a_long_list_has_a_limit() -> None:
    assert len(aspects_of(", ".join(f"thing {number}" for number in range(100)))) == MOST_ASPECTS
