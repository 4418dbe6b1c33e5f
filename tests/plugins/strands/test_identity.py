"""Whose invocation it is: it travels with the invocation, and with nothing that another one could reach."""

import asyncio
import gc
from typing import Any

import pytest
from strands import Agent, tool
from strands.hooks import BeforeModelCallEvent
from strands.multiagent import GraphBuilder
from strands.types.exceptions import ConcurrencyException

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import call
from mcp_memory_server import InvalidRequestError, Role, Scope, Statement
from tests.plugins.strands.conftest import Ask, agent_with, model_of

ANA = Scope("ana", "a")


def of(user: str) -> dict[str, Any]:
    return for_user(user, user[0])


def contents(ask: Ask[Any], scope: Scope) -> list[str]:
    return [turn.content for turn in ask(lambda memory: memory.conversations.load(scope)).turns]


def test_an_invocation_without_a_user_does_not_see_the_messages_of_the_one_before_it(shared: SharedMemory) -> None:
    agent = agent_with(MemoryPlugin(memory=shared), "Noted.", "I do not know.")

    agent("My card number is 4711.", invocation_state=of("ana"))
    agent("What is my card number?")

    assert "4711" not in str(model_of(agent).seen[-1].messages)


def test_an_agent_that_is_called_as_a_tool_keeps_the_user_of_the_invocation(
    shared: SharedMemory, ask: Ask[Any]
) -> None:
    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    plugin = MemoryPlugin(memory=shared)
    inner = agent_with(plugin, call("recall", query="Where does Ana live?"), lambda seen: seen.text, name="inner")
    outer = agent_with(plugin, call("inner", input="Where does the user live?"), "In Lisbon.", tools=[inner])

    outer("Where do I live?", invocation_state=of("ana"))

    assert "Ana lives in Lisbon." in model_of(inner).seen[0].text
    assert "Ana lives in Lisbon." in model_of(inner).seen[1].text


def test_what_an_agent_says_to_another_is_no_turn_of_the_user(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin("ana", "a", memory=shared)
    inner = agent_with(plugin, "To the outer one: Lisbon.", name="inner")

    @tool
    def ask_inner(question: str) -> str:
        """Ask another agent."""
        return str(inner(question, invocation_state=of("ana")))

    agent_with(plugin, call("ask_inner", question="I am the user and like cats"), "In Lisbon.", tools=[ask_inner])(
        "Where do I live?"
    )

    turns = ask(lambda memory: memory.conversations.load(ANA)).turns
    assert [turn.content for turn in turns if turn.role is Role.USER] == ["Where do I live?"]
    assert not any("To the outer one" in turn.content for turn in turns if turn.role is not Role.TOOL)


def test_a_team_that_is_called_as_a_tool_keeps_the_user_and_no_turn_of_it(shared: SharedMemory, ask: Ask[Any]) -> None:
    node = agent_with(None, "Found it.", name="node")
    builder = GraphBuilder()
    builder.add_node(node, "node")
    graph = builder.set_execution_timeout(60).set_plugins([MemoryPlugin(memory=shared)]).build()

    @tool
    async def search(words: str) -> str:
        """Search."""
        return str((await graph.invoke_async(words)).results["node"].result)

    ask(lambda memory: memory.facts.learn(ANA, Statement("Ana lives in Lisbon.")))
    agent_with(MemoryPlugin(memory=shared), call("search", words="the city"), "Lisbon.", tools=[search])(
        "Where do I live?", invocation_state=of("ana")
    )

    assert "Ana lives in Lisbon." in model_of(node).seen[0].text
    assert contents(ask, ANA) == ["Where do I live?", "", "Found it.\n", "Lisbon."]


def test_an_agent_may_call_another_for_another_user(shared: SharedMemory, ask: Ask[Any]) -> None:
    """A host program names the user, so it is a conversation of its own, wherever it is called from."""
    plugin = MemoryPlugin(memory=shared)
    clerk = agent_with(plugin, "Hello Ben.")

    @tool
    def greet_ben() -> str:
        """Greet Ben."""
        return str(clerk("Ben says hello.", invocation_state=of("ben")))

    agent_with(plugin, call("greet_ben"), "Done.", tools=[greet_ben])("Greet Ben.", invocation_state=of("ana"))

    assert contents(ask, Scope("ben", "b")) == ["Ben says hello.", "Hello Ben."]


def test_a_worker_that_an_invocation_started_does_not_work_for_its_user_afterwards(shared: SharedMemory) -> None:
    """A task has the context in which it was started, for as long as it lives."""
    plugin = MemoryPlugin(memory=shared)
    other = agent_with(plugin, "Heard.")

    async def run() -> None:
        requests: asyncio.Queue[str] = asyncio.Queue()
        workers: list[asyncio.Task[Any]] = []

        async def work() -> None:
            await other.invoke_async(await requests.get())

        @tool
        async def start_worker() -> str:
            """Start it."""
            workers.append(asyncio.create_task(work()))
            return "started"

        agent = agent_with(plugin, call("start_worker"), "Done.", tools=[start_worker])
        await agent.invoke_async("My secret is bluebird.", invocation_state=of("ana"))
        await requests.put("What is my secret?")
        await workers[0]

    asyncio.run(run())

    assert "nobody was named" in model_of(other).seen[0].text


def test_a_stream_that_its_reader_leaves_in_the_middle_leaves_no_user_behind(shared: SharedMemory) -> None:
    plugin = MemoryPlugin(memory=shared)
    left, other = agent_with(plugin, "A long answer."), agent_with(plugin, "Heard.")

    async def run() -> None:
        stream = left.stream_async("My secret is bluebird.", invocation_state=of("ana"))
        async for _ in stream:
            break
        await other.invoke_async("What is my secret?")  # the stream is neither read to its end nor closed
        del stream
        gc.collect()

    asyncio.run(run())

    assert "nobody was named" in model_of(other).seen[0].text


def test_an_agent_that_allows_several_invocations_refuses_those_of_another_user(shared: SharedMemory) -> None:
    """Its messages are one list, which two users at the same moment would share."""
    agent = agent_with(
        MemoryPlugin(memory=shared), "Heard.", concurrent_invocation_mode="unsafe_reentrant", name="shared"
    )

    async def run() -> list[Any]:
        said = [agent.invoke_async(f"secret-{user}", invocation_state=of(user)) for user in ("ana", "ben")]
        return await asyncio.gather(*said, return_exceptions=True)

    answers = asyncio.run(run())

    assert [type(answer) for answer in answers][1] is ConcurrencyException
    assert "make an agent for each user" in str(answers[1])
    assert "secret-ben" not in str(agent.messages)
    assert not any("secret-ben" in str(seen.messages) for seen in model_of(agent).seen)


def test_a_graph_that_is_answering_refuses_a_second_user_and_finishes_for_the_first(shared: SharedMemory) -> None:
    first, second = agent_with(None, "One.", name="first"), agent_with(None, "Two.", name="second")
    builder = GraphBuilder()
    builder.add_node(first, "first")
    builder.add_node(second, "second")
    seen_users: list[str] = []

    def is_same_user(state: Any, *, invocation_state: dict[str, Any], **_: Any) -> bool:
        seen_users.append(invocation_state["mcp_memory"]["user_id"])
        return True

    builder.add_edge("first", "second", condition=is_same_user)
    graph = builder.set_execution_timeout(60).set_plugins([MemoryPlugin(memory=shared)]).build()
    refused: list[BaseException] = []

    async def ben_asks(event: BeforeModelCallEvent) -> None:
        try:
            await graph.invoke_async("secret-ben", invocation_state=of("ben"))
        except ConcurrencyException as error:
            refused.append(error)

    first.add_hook(ben_asks, BeforeModelCallEvent)
    result = graph("secret-ana", invocation_state=of("ana"))

    assert "make a Graph for each invocation" in str(refused[0])
    assert str(result.results["second"].result) == "Two.\n"
    assert set(seen_users) == {"ana"}
    assert "secret-ben" not in str([seen.messages for each in (first, second) for seen in model_of(each).seen])


def test_a_graph_that_failed_answers_the_next_user(shared: SharedMemory) -> None:
    def fail(_: Any) -> str:
        raise ConnectionError("no model")

    node = agent_with(None, fail, "Heard.", name="node")
    builder = GraphBuilder()
    builder.add_node(node, "node")
    graph = builder.set_execution_timeout(60).set_plugins([MemoryPlugin(memory=shared)]).build()

    with pytest.raises(ConnectionError):
        graph("first", invocation_state=of("ana"))

    assert str(graph("second", invocation_state=of("ben")).results["node"].result) == "Heard.\n"


@pytest.mark.parametrize("wrong", [42, ["ana"], {"name": "ana"}, b"ana"])
def test_a_user_of_a_wrong_type_is_refused_at_once(wrong: Any) -> None:
    for make in (MemoryPlugin, for_user):
        with pytest.raises(InvalidRequestError, match="user_id must be a text such as 'ana'"):
            make(wrong)


@pytest.mark.parametrize(
    ("argument", "wrong", "right"),
    [
        ("memory", "sqlite:///memory.db", r"Settings\(table="),
        ("max_tokens", "800", "a number such as 800"),
        ("tools", [print], r"Tool\('search', timeout=5\)"),
        ("tools", "search", r"Tool\('search', timeout=5\)"),
        ("tool_seconds", "60", "a number of seconds or None"),
    ],
)
def test_an_argument_of_a_wrong_type_is_refused_at_once_with_what_is_right(
    shared: SharedMemory, argument: str, wrong: Any, right: str
) -> None:
    with pytest.raises(InvalidRequestError, match=right) as refused:
        MemoryPlugin("ana", **{"memory": shared, argument: wrong})

    assert str(refused.value).count("\n") == 0
    assert str(refused.value).startswith(argument)


def test_the_old_names_of_user_and_session_still_work(shared: SharedMemory) -> None:
    assert for_user(user="ana", session="a") == for_user("ana", "a") == for_user(user_id="ana", session_id="a")
    plugin = MemoryPlugin(user="ana", session="a", memory=shared)
    with_old_state = {"mcp_memory": {"user": "ben", "session": "b"}}

    assert str(agent_with(plugin, lambda seen: seen.text)("Hi")).strip() == "Hi"  # with no user, it would say so
    assert plugin.coordinator(with_old_state) is plugin.coordinator(of("ben"))
    with pytest.raises(InvalidRequestError, match="old name"):
        MemoryPlugin("ana", user="ben", memory=shared)
    with pytest.raises(InvalidRequestError, match="no argument 'users'"):
        MemoryPlugin(users="ben", memory=shared)


def test_nothing_that_a_model_or_a_tool_of_it_writes_changes_the_user(shared: SharedMemory, ask: Ask[Any]) -> None:
    ask(lambda memory: memory.facts.learn(Scope("ben"), Statement("Ben is allergic to nuts.")))
    agent = agent_with(MemoryPlugin(memory=shared), call("recall", query="nuts", user_id="ben"), lambda seen: seen.text)

    answer = agent("Look for Ben.", invocation_state=of("ana"))

    assert "allergic" not in str(answer)


def test_agents_are_released_when_nobody_uses_them(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", memory=shared)
    agent_with(plugin, "Heard.")("Hi")
    gc.collect()

    assert not any(isinstance(each, Agent) and each.name == "Strands Agents" for each in plugin._agents._agents)
