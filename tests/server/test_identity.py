"""Who is asking: only settings and verified tokens can say it."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client

from mcp_memory_server import InvalidRequestError, Memory, Scope
from mcp_memory_server.errors import NotPermittedError
from mcp_memory_server.server.access.principal import (
    OWN_MEMORY,
    USER_KEY,
    Permission,
    Principal,
    acting_as,
    owner_id,
)
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import Asked, always, from_verified_token
from tests.server.asking import ANA, LISBON, ask, be_refused

pytestmark = pytest.mark.anyio

ISSUERS = st.sampled_from(["https://a.example", "https://a.example/", "https://a.example/" + "x" * 100])
SUBJECTS = st.text(min_size=1, max_size=140).filter(str.strip)


def test_settings_name_one_owner_for_every_request() -> None:
    identify = always(ANA)

    assert (identify(Asked()), identify(Asked())) == (ANA, ANA)


def test_a_verified_token_owns_the_memory_of_its_subject() -> None:
    with acting_as(Principal("bo", OWN_MEMORY)):
        assert from_verified_token(Asked()) == Scope("bo")


def test_without_a_token_there_is_no_owner() -> None:
    with pytest.raises(NotPermittedError, match="no verified token"):
        from_verified_token(Asked())


def test_what_the_token_does_not_permit_is_refused_behind_the_gate_too() -> None:
    with acting_as(Principal("bo", frozenset({Permission.READ}))):
        assert from_verified_token(Asked([Permission.READ])) == Scope("bo")
        with pytest.raises(NotPermittedError, match="memory:write"):
            from_verified_token(Asked([Permission.WRITE]))
        with pytest.raises(NotPermittedError, match="memory:act-for"):
            from_verified_token(Asked([Permission.READ], {USER_KEY: "ana"}))


@pytest.mark.parametrize("subject", ["", "   ", "x" * 129])
def test_a_token_that_names_nobody_owns_nothing(subject: str) -> None:
    with acting_as(Principal(subject, OWN_MEMORY)), pytest.raises(InvalidRequestError):
        from_verified_token(Asked())


@pytest.mark.parametrize("named", [None, "", " ", 7, ["bo"]])
def test_whoever_acts_for_others_must_name_a_user(named: object) -> None:
    with acting_as(Principal("bot", frozenset({Permission.ACT_FOR}))), pytest.raises(InvalidRequestError):
        from_verified_token(Asked((), {USER_KEY: named}))


@given(issuers=st.tuples(ISSUERS, ISSUERS), subjects=st.tuples(SUBJECTS, SUBJECTS))
def test_different_issuers_or_subjects_are_different_owners(
    issuers: tuple[str, str], subjects: tuple[str, str]
) -> None:
    first, second = (owner_id(*one) for one in zip(issuers, subjects, strict=True))

    assert (first == second) == (issuers[0] == issuers[1] and subjects[0] == subjects[1])
    assert Scope(first).user_id == first


async def test_a_tool_without_an_owner_refuses_and_stores_nothing(memory: Memory, memory_file: Path) -> None:
    async with Client(build_server(memory, from_verified_token)) as client:
        refused = await be_refused(client, "remember_fact", LISBON)

    assert "no verified token" in refused["message"]
    with closing(sqlite3.connect(memory_file)) as file:
        assert file.execute("SELECT count(*) FROM items").fetchone() == (0,)


async def test_two_owners_of_one_table_do_not_see_each_other(memory: Memory) -> None:
    async with Client(build_server(memory, always(ANA))) as ana:
        learned = await ask(ana, "remember_fact", **LISBON)

    async with Client(build_server(memory, always(Scope("bo")))) as bo:
        assert (await ask(bo, "recall", query="Lisbon"))["memories"] == []
        assert "Lisbon" not in (await ask(bo, "load_context"))["context"]
        assert (await be_refused(bo, "forget", {"id": learned["id"]}))["error"] == "not_found"
        assert (await be_refused(bo, "remember_fact", {"fact": "a", "replaces": learned["id"]}))["error"] == "not_found"
        assert "Lisbon" not in str((await bo.read_resource("memory://facts")).contents)
