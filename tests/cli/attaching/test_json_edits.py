"""One member of a person's JSON file changes; everything else stays as it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.cli.attaching.json_edits import NotJsonError, decoded, with_member, without_member

SETTINGS = """\
// Settings of an editor
{
    "theme": "One // Dark", /* not a comment: */ "url": "http://x/*y*/",
    "servers": {
        "other": {"command": "x",}, // a trailing comma
    },
    "last": [1, {"a": 2}],
}
"""
NAMES = st.text(min_size=1, max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def test_comments_order_and_layout_stay() -> None:
    changed = with_member(SETTINGS, ["servers", "memory"], {"command": "y"})

    assert [line for line in SETTINGS.splitlines() if line not in changed] == []
    assert decoded(changed)["servers"] == {"other": {"command": "x"}, "memory": {"command": "y"}}


def test_a_removed_member_leaves_the_text_as_it_was_before() -> None:
    assert without_member(with_member(SETTINGS, ["servers", "memory"], {"a": 1}), ["servers", "memory"]) == SETTINGS


@given(DOCUMENTS, NAMES, NAMES, VALUES, st.sampled_from([None, 2, "\t"]))
def test_setting_a_member_changes_nothing_else(
    document: dict[str, Any], outer: str, inner: str, value: Any, indent: int | str | None
) -> None:
    text = json.dumps(document, indent=indent)
    if outer in document and not isinstance(document[outer], dict):
        with pytest.raises(NotJsonError, match="not an object"):
            with_member(text, [outer, inner], value)
        return

    changed = decoded(with_member(text, [outer, inner], value))

    expected = {**document, outer: {**document.get(outer, {}), inner: value}}
    assert changed == expected
    assert list(changed) == list(expected)


@given(DOCUMENTS, st.data(), st.sampled_from([None, 2]))
def test_removing_a_member_changes_nothing_else(document: dict[str, Any], data: st.DataObject, indent: int) -> None:
    name = data.draw(st.sampled_from([*document, "missing"]))

    changed = decoded(without_member(json.dumps(document, indent=indent), [name]))

    assert changed == {key: value for key, value in document.items() if key != name}


@pytest.mark.parametrize("text", ["[]", "1", '{"a" 1}', "{", '{"a": 1} }', "hello", '{"a": #}'])
def test_a_text_that_is_not_an_object_is_refused(text: str) -> None:
    with pytest.raises(NotJsonError):
        with_member(text, ["a"], 1)


@pytest.mark.parametrize("text", ["", "  \n", "{}", "{ }\n", "// nothing yet\n{\n}\n"])
def test_an_empty_file_gets_its_first_member(text: str) -> None:
    assert decoded(with_member(text, ["servers", "memory"], {"command": "x"})) == {
        "servers": {"memory": {"command": "x"}}
    }
