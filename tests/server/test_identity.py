"""Who is asking: only settings and verified tokens can say it."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from mcp_memory_server import InvalidRequestError, Memory, Scope
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always, from_verified_token
from tests.server.asking import ANA, LISBON, ask, be_refused

pytestmark = pytest.mark.anyio


@contextmanager
def token_of(subject: str | None) -> Iterator[None]:
    token = AccessToken(token="t", client_id="some client", scopes=[], subject=subject)
    reset = auth_context_var.set(AuthenticatedUser(token))
    yield
    auth_context_var.reset(reset)


def test_settings_name_one_owner_for_every_request() -> None:
    identify = always(ANA)

    assert (identify(), identify()) == (ANA, ANA)


def test_a_verified_token_owns_the_memory_of_its_subject() -> None:
    with token_of("bo"):
        assert from_verified_token() == Scope("bo")


def test_without_a_token_there_is_no_owner() -> None:
    with pytest.raises(InvalidRequestError, match="no verified token"):
        from_verified_token()


@pytest.mark.parametrize("subject", [None, "", "   ", "x" * 129])
def test_a_token_that_names_nobody_owns_nothing(subject: str | None) -> None:
    with token_of(subject), pytest.raises(InvalidRequestError):
        from_verified_token()


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
