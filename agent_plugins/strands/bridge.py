"""Loops that Strands makes for calls that are not async, and what a hanging tool must not do to them."""

import asyncio

from strands import _async

from agent_plugins.breakers.daemon_threads import DaemonThreads


def let_go_of_hanging_tools() -> None:
    """Make sure that a call which is not async returns when the agent has answered, though a tool still hangs.

    For such a call Strands runs a loop of its own, and closing a loop waits for its threads. A loop of the developer's
    is left as it is.
    """
    if _async.is_run_async_bridge():
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
