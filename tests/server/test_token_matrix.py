"""One server over HTTP for the users of two issuers: who is refused how, and that nobody sees a foreign memory."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from mcp_memory_server.server.access.principal import USER_KEY
from mcp_memory_server.server.access.token_file import TokenFile
from tests.server.issuing import AUDIENCE, Issuer, Key, issuer_on_this_machine
from tests.server.processes import Served, over_http
from tests.server.raw_http import HEADERS, Answer, send

pytestmark = pytest.mark.anyio

SECONDS = 60
USERS = 50
ACT_FOR = "memory:read memory:write memory:act-for"


@dataclass(frozen=True)
class Stage:
    """A server, the two issuers that it trusts, and its own tokens."""

    served: Served
    issuer: Issuer
    other: Issuer
    tokens: TokenFile

    def post(self, token: str | None, message: dict[str, Any]) -> Answer:
        authorized = {} if token is None else {"Authorization": f"Bearer {token}"}
        return send(self.served.port, json.dumps(message).encode(), **authorized)

    def own_token(self, permissions: str = "memory:read memory:write") -> str:
        return self.tokens.create("bo", permissions, "", None)[1]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("tokens")
    with issuer_on_this_machine() as issuer, issuer_on_this_machine() as other:
        named = [f"{one.address}?audience={AUDIENCE}&jwks={one.address}/keys" for one in (issuer, other)]
        auth = {"MCP_MEMORY_AUTH": " ".join([*named, "tokens:"])}
        with over_http(folder / "memory.db", arguments=(), variables=auth) as served:
            yield Stage(served, issuer, other, TokenFile(folder / "tokens.json"))


def calling(tool: str, *, user: str | None = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if user is None else {"_meta": {USER_KEY: user}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments, **meta}}


CONTEXT = calling("load_context")
WRONG_TOKENS = {
    "garbage": lambda _: "garbage",
    "three parts of garbage": lambda _: "a.b.c",
    "expired": lambda stage: stage.issuer.token(exp=time.time() - 120),
    "not valid yet": lambda stage: stage.issuer.token(nbf=time.time() + 600),
    "for another audience": lambda stage: stage.issuer.token(aud="https://mail.example"),
    "without an audience": lambda stage: stage.issuer.token(aud=None),
    "without an expiry": lambda stage: stage.issuer.token(exp=None),
    "without a subject": lambda stage: stage.issuer.token(sub=None),
    "of a blank subject": lambda stage: stage.issuer.token(sub=" "),
    "of an issuer that is not trusted": lambda stage: stage.issuer.token(iss="https://evil.example"),
    "of an issuer whose name begins alike": lambda stage: stage.issuer.token(iss=f"{stage.issuer.address}.evil"),
    "unsigned": lambda stage: stage.issuer.token(algorithm="none"),
    "signed with another key": lambda stage: stage.issuer.token(key=Key("first")),
    "signed by the other issuer": lambda stage: stage.other.token(iss=stage.issuer.address),
    "with a key id that nobody knows": lambda stage: stage.issuer.token(key=Key("unknown")),
    "changed after it was signed": lambda stage: stage.issuer.token()[:-4] + "AAAA",
    "of a file that does not have it": lambda _: "mcpm_0123456789ab_invented",
}


def test_without_a_token_the_answer_says_where_to_get_one(stage: Stage) -> None:
    answer = stage.post(None, CONTEXT)

    challenge = answer.headers["www-authenticate"]
    assert answer.status == 401
    assert challenge.startswith("Bearer ")
    assert 'resource_metadata="https://memory.example/.well-known/oauth-protected-resource/mcp"' in challenge
    assert "error=" not in challenge


@pytest.mark.parametrize("kind", WRONG_TOKENS)
def test_a_wrong_token_is_refused(stage: Stage, kind: str) -> None:
    answer = stage.post(WRONG_TOKENS[kind](stage), CONTEXT)

    assert answer.status == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_revoked_token_is_refused_from_the_next_request_on(stage: Stage) -> None:
    token = stage.own_token()
    before = stage.post(token, CONTEXT).status
    stage.tokens.revoke(token.split("_")[1])

    assert (before, stage.post(token, CONTEXT).status) == (200, 401)


@pytest.mark.parametrize(
    ("permissions", "tool", "arguments", "missing"),
    [
        ("memory:read", "remember_fact", {"fact": "Ana likes tea."}, "memory:write"),
        ("memory:read memory:write", "forget", {"id": "x"}, "memory:forget"),
        ("memory:write", "recall", {"query": "tea"}, "memory:read"),
        ("", "load_context", {}, "memory:read"),
        ("memory:operate", "load_context", {}, "memory:read"),
    ],
)
def test_a_token_without_the_permission_is_refused_and_the_answer_names_it(
    stage: Stage, permissions: str, tool: str, arguments: dict[str, Any], missing: str
) -> None:
    for token in (stage.own_token(permissions), stage.issuer.token(scope=permissions)):
        answer = stage.post(token, calling(tool, **arguments))

        challenge = answer.headers["www-authenticate"]
        assert answer.status == 403
        assert 'error="insufficient_scope"' in challenge
        assert f'scope="{missing}"' in challenge


def test_naming_another_user_without_the_permission_is_refused(stage: Stage) -> None:
    answer = stage.post(stage.issuer.token(), calling("load_context", user="bo"))

    assert answer.status == 403
    assert 'scope="memory:act-for"' in answer.headers["www-authenticate"]


def test_an_orchestrator_acts_for_the_users_of_its_issuer_and_must_name_one(stage: Stage) -> None:
    orchestrator = stage.issuer.token("orchestrator", scope=ACT_FOR)
    remembered = stage.post(orchestrator, calling("remember_fact", user="cleo", fact="Cleo keeps bees."))

    assert remembered.status == 200
    assert "bees" in stage.post(stage.issuer.token("cleo"), calling("recall", query="bees")).body
    assert "bees" not in stage.post(stage.other.token("cleo"), calling("recall", query="bees")).body
    assert "bees" not in stage.post(stage.issuer.token("orchestrator"), calling("recall", query="bees")).body
    unnamed = stage.post(orchestrator, calling("remember_fact", fact="Dan keeps cats.")).json["result"]
    assert unnamed["isError"]
    assert USER_KEY in unnamed["structuredContent"]["message"]


def test_equal_subjects_of_two_issuers_do_not_share_a_memory(stage: Stage) -> None:
    stage.post(stage.issuer.token("sam"), calling("remember_fact", fact="Sam plays the cello."))

    assert "cello" in stage.post(stage.issuer.token("sam"), calling("recall", query="cello")).body
    assert "cello" not in stage.post(stage.other.token("sam"), calling("recall", query="cello")).body
    own = stage.tokens.create("sam", "memory:read", "", None)[1]
    assert "cello" not in stage.post(own, calling("recall", query="cello")).body


async def test_fifty_users_at_once_never_see_each_others_memories(stage: Stage) -> None:
    crossed: list[str] = []

    async def live(client: httpx2.AsyncClient, number: int) -> None:
        token = stage.issuer.token(f"user {number}", scope="memory:read memory:write")
        own = {"Authorization": f"Bearer {token}"}

        async def ask(tool: str, **arguments: Any) -> str:
            answer = await client.post(stage.served.url, json=calling(tool, **arguments), headers=own)
            assert answer.status_code == 200, answer.text
            return answer.text

        for round_ in range(2):
            await ask("remember_fact", fact=f"The locker of user-{number}-x holds box {round_}.")
            texts = await asyncio.gather(ask("recall", query="whose locker holds a box?"), ask("load_context"))
            assert all(f"user-{number}-x" in text for text in texts)
            crossed.extend(f"user-{other}-x" for other in range(USERS) for text in texts if other != number
                           if f"user-{other}-x" in text)  # fmt: skip

    async with httpx2.AsyncClient(headers=HEADERS, timeout=SECONDS) as client:
        await asyncio.gather(*(live(client, number) for number in range(USERS)))

    assert crossed == []


def test_the_metadata_says_who_gives_tokens_and_which_scopes_there_are(stage: Stage) -> None:
    found = send(stage.served.port, b"", path="/.well-known/oauth-protected-resource/mcp", method="GET").json

    assert found["resource"] == AUDIENCE
    assert found["authorization_servers"] == [stage.issuer.address, stage.other.address]
    assert "memory:act-for" in found["scopes_supported"]


def test_what_it_says_at_the_start_is_that_a_token_is_needed(stage: Stage) -> None:
    assert "Serving at http://127.0.0.1" in stage.served.said
