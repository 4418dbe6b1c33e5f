"""Several agents in a Swarm or a Graph: one conversation, one state, and nothing carried over to somebody else."""

import re
from typing import Any, cast

from strands import Agent, ToolContext, tool
from strands.multiagent import GraphBuilder, Swarm

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.state.changes import fill_slot
from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import Line, call
from mcp_memory_server import Scope, Statement
from tests.plugins.strands.conftest import Ask, agent_with, model_of

USERS = ("ana", "ben")


def hand_over(to: str, **context: Any) -> Line:
    return call("handoff_to_agent", agent_name=to, message=f"please go on, {to}", context=context)


def agent(name: str, *script: Line, **more: Any) -> Agent:
    return agent_with(None, *script, name=name, **more)


def sent_to(*agents: Agent) -> str:
    """Return everything that the models of these agents were sent."""
    return str([seen.messages for each in agents for seen in model_of(each).seen])


def forget_what_was_sent(*agents: Agent) -> None:
    for each in agents:
        model_of(each).seen.clear()


def test_two_users_on_one_swarm_learn_nothing_about_each_other(shared: SharedMemory, ask: Ask[Any]) -> None:
    """Each of them says something secret, an agent puts it into the context that the Swarm shares, over and over."""
    for user in USERS:
        ask(lambda memory, user=user: memory.facts.learn(Scope(user), Statement(f"{user} has the secret fact-{user}.")))

    def secret(seen: Any) -> str:
        return re.findall(r"secret-\w+", seen.text)[-1]

    rounds: list[Line] = []
    for _ in range(10):
        rounds += [lambda seen: hand_over("orders", said=secret(seen)), "Handed over."]
    search = agent("search", *rounds)
    orders = agent("orders", lambda seen: f"Done with {secret(seen)}.")
    swarm = Swarm([search, orders], entry_point=search, plugins=[MemoryPlugin(memory=shared)])

    leaks = 0
    for number in range(10):
        user, other = USERS[number % 2], USERS[1 - number % 2]
        forget_what_was_sent(search, orders)
        swarm(f"My secret is secret-{user}.", invocation_state=for_user(user, f"chat of {user}"))
        sent = sent_to(search, orders)
        assert f"secret-{user}" in sent
        assert f"fact-{user}" in sent
        leaks += f"secret-{other}" in sent or f"fact-{other}" in sent

    assert leaks == 0


def test_two_users_on_one_graph_learn_nothing_about_each_other(shared: SharedMemory) -> None:
    """Nodes of a Graph keep their messages from one invocation to the next."""
    first, second = agent("first", "Heard."), agent("second", "Heard too.")
    builder = GraphBuilder()
    builder.add_node(first, "first")
    builder.add_node(second, "second")
    builder.add_edge("first", "second")
    graph = builder.set_execution_timeout(60).set_plugins([MemoryPlugin(memory=shared)]).build()

    graph("My secret is secret-ana.", invocation_state=for_user("ana", "a"))
    forget_what_was_sent(first, second)
    graph("My secret is secret-ben.", invocation_state=for_user("ben", "b"))

    assert "secret-ben" in sent_to(first, second)
    assert "secret-ana" not in sent_to(first, second)


def test_a_swarm_keeps_one_conversation_in_which_each_agent_speaks_as_itself(
    shared: SharedMemory, ask: Ask[Any]
) -> None:
    search = agent("search", hand_over("orders", title="Dune"), "Over to orders.")
    orders = agent("orders", "Ordered.")
    swarm = Swarm([search, orders], entry_point=search, plugins=[MemoryPlugin("ana", "s1", memory=shared)])

    swarm("Please order Dune.")

    session = ask(lambda memory: memory.conversations.load(Scope("ana", "s1")))
    said = [(turn.speaker or turn.role.value, turn.content) for turn in session.turns if turn.content]
    assert said[0] == ("user", "Please order Dune.")
    assert ("orders", "Ordered.") in said
    assert [speaker for speaker, _ in said].count("user") == 1


def test_the_next_agent_gets_the_turns_and_the_state_of_the_one_before_it(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared)

    @tool(context=True)
    def note_title(title: str, tool_context: ToolContext) -> str:
        """Note which book it is about."""
        plugin.coordinator(tool_context.invocation_state).change_now(fill_slot("title", title, confirmed=True))
        return "noted"

    search = agent("search", call("note_title", title="Dune"), "It is Dune.", tools=[note_title])
    orders = agent("orders", lambda seen: seen.line("confirmed:"))
    builder = GraphBuilder()
    builder.add_node(search, "search")
    builder.add_node(orders, "orders")
    builder.add_edge("search", "orders")
    graph = builder.set_execution_timeout(60).set_plugins([plugin]).build()

    result = graph("Order that book about a desert.")

    assert str(result.results["orders"].result).strip() == 'confirmed: "title" = "Dune"'
    assert "search: It is Dune." in model_of(orders).seen[0].text
    assert plugin.coordinator(for_user("ana", "s1")).state.conversation.active_agent == "orders"


def test_hand_offs_that_form_a_cycle_are_reported_and_stopped(shared: SharedMemory) -> None:
    ping = agent("ping", *[hand_over("pong"), "Over to pong."] * 10)
    pong = agent("pong", *[hand_over("ping"), "Over to ping."] * 10)
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    swarm = Swarm([ping, pong], entry_point=ping, max_handoffs=20, max_iterations=20, plugins=[plugin])

    result = swarm("Who is responsible?")

    assert "went in a circle" in sent_to(ping, pong)
    assert plugin.status()["guards"]["handoff_circle"] >= 1
    assert len(result.node_history) < 10


def test_a_broken_tool_is_broken_for_every_agent_of_the_swarm(shared: SharedMemory) -> None:
    calls: list[str] = []

    @tool
    def stock(title: str) -> str:
        """Look it up."""
        calls.append(title)
        raise ConnectionError("no answer")

    search = agent(
        "search", *[call("stock", title=f"{n}") for n in range(5)], hand_over("orders"), "Over.", tools=[stock]
    )
    orders = agent("orders", call("stock", title="again"), lambda seen: seen.text, tools=[stock])
    swarm = Swarm([search, orders], entry_point=search, plugins=[MemoryPlugin("ana", memory=shared)])

    swarm("Is it there?")

    assert len(calls) == 5
    assert "tool_unavailable" in sent_to(orders)


def test_an_agent_that_has_the_plugin_itself_gets_it_once(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    alone = agent_with(plugin, "Hello.", name="alone")
    plugin.coordinator().change_now(fill_slot("title", "Dune"))
    Swarm([alone], plugins=[plugin])("Hi")

    assert repr(model_of(alone).seen[0].messages).count("<state") == 1


def test_a_turn_is_counted_once_for_all_agents_together(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    search, orders = agent("search", hand_over("orders"), "Over."), agent("orders", "Done.")
    swarm = Swarm([search, orders], entry_point=search, plugins=[plugin])

    swarm("one")
    swarm("two")

    assert plugin.coordinator().state.conversation.turn_count == 2


def test_a_swarm_inside_of_a_graph_forgets_too(shared: SharedMemory) -> None:
    search = agent("search", *[hand_over("orders", said="secret-ana"), "Over."], hand_over("orders", said="x"), "Over.")
    orders = agent("orders", "Done.")
    inner = Swarm([search, orders], entry_point=search)
    builder = GraphBuilder()
    builder.add_node(inner, "inner")
    graph = builder.set_execution_timeout(60).set_plugins([MemoryPlugin(memory=shared)]).build()

    graph("First.", invocation_state=for_user("ana", "a"))
    forget_what_was_sent(search, orders)
    graph("Second.", invocation_state=for_user("ben", "b"))

    assert "secret-ana" not in sent_to(search, orders)


def test_a_swarm_that_goes_on_after_an_interrupt_is_the_same_invocation(shared: SharedMemory, ask: Ask[Any]) -> None:
    @tool(context=True)
    def pay(tool_context: ToolContext) -> str:
        """Pay, after a person agreed."""
        return f"paid: {tool_context.interrupt('payment', reason='12 euros')}"

    search = agent("search", hand_over("orders", title="Dune"), "Over.")
    orders = agent("orders", call("pay"), lambda seen: seen.line("paid"), tools=[pay])
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    swarm = Swarm([search, orders], entry_point=search, plugins=[plugin])

    asked = swarm("Order Dune.")
    answer = [{"interruptResponse": {"interruptId": asked.interrupts[0].id, "response": "yes"}}]
    done = swarm(cast("Any", answer))

    session = ask(lambda memory: memory.conversations.load(Scope("ana", "s1")))
    assert swarm.shared_context.context == {"search": {"title": "Dune"}}
    assert str(done.results["orders"].result).strip() == "paid: yes"
    assert [turn.content for turn in session.turns].count("Order Dune.") == 1


def test_what_the_host_changes_reaches_agents_that_are_at_work(shared: SharedMemory) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared)

    @tool
    def shop() -> str:
        """Somebody fills the cart, in another program."""
        plugin.coordinator().update_environment_now(cart=["Dune"])
        return "done"

    working = agent_with(plugin, call("shop"), lambda seen: seen.line("cart"), tools=[shop])

    assert "Dune" in str(working("Wait for it."))
