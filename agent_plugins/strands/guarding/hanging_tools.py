"""Protection of synchronous calls against tools that hang."""

import asyncio

from strands import _async

from agent_plugins.breakers.daemon_threads import DaemonThreads


def run_tools_in_daemon_threads() -> None:
    """Let a synchronous call return when the agent has answered, even while a tool hangs.

    For a synchronous call Strands runs a loop of its own, and closing a loop waits for its threads. The loop of an
    async caller stays as it is.
    """
    if _async.is_run_async_bridge():
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
