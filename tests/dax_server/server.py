"""The whole cluster: its nodes, the address under which it is found, and what it can be told to do."""

import socket
from collections.abc import Mapping
from typing import Any

from tests.dax_server.cluster import Options, Shared
from tests.dax_server.node import HOST, Node

_NODE, _HOSTNAME, _ADDRESS, _PORT, _ROLE, _ZONE, _LEADER_SESSION = range(7)
_LEADER, _REPLICA = 1, 2
_OF_NODES = ("stop", "kill", "start", "hang", "resume", "drop")


class DaxServer:
    """Nodes over one table. The first that is up is the leader; clients write through it and read from any."""

    def __init__(self, options: Options) -> None:
        self.shared = Shared(options)
        self.nodes = [Node(self.shared, number, self._endpoints) for number in range(options.nodes)]
        self.found_at = Node(self.shared, 0, self._endpoints)
        """The address of the cluster: clients ask it where the nodes are."""

    def start(self) -> None:
        for node in (*self.nodes, self.found_at):
            node.start()

    def do(self, command: str, arguments: Mapping[str, Any]) -> object:
        """Carry out a command; ``node`` names one node by its number, without it all of them are meant."""
        if command in _OF_NODES:
            which = self.nodes if arguments.get("node") is None else [self.nodes[arguments["node"]]]
            self._tell_nodes(command, which, arguments)
            return None
        return self._tell_cluster(command, arguments)

    def _tell_nodes(self, command: str, nodes: list[Node], arguments: Mapping[str, Any]) -> None:
        for node in nodes if nodes is not self.nodes else [*nodes, self.found_at]:
            match command:
                case "stop" | "kill":
                    node.stop()
                case "start":
                    node.start()
                case "drop":
                    node.drops = arguments["replies"]
                case _:
                    node.hangs = command == "hang"
        if command == "kill":  # what it kept is gone
            self._forget(nodes)

    def _tell_cluster(self, command: str, arguments: Mapping[str, Any]) -> object:
        match command:
            case "lag":
                self.shared.lag = arguments["seconds"]
            case "advance":
                self.shared.clock.advance(arguments["seconds"])
            case "counts":
                return dict(self.shared.counts)
            case "reset":
                self.shared.counts.clear()
                self._forget(self.nodes)
            case _:
                raise ValueError(f"there is no command {command!r}")
        return None

    def _forget(self, nodes: list[Node]) -> None:
        for node in nodes:
            self.shared.caches[self.nodes.index(node)].clear()

    def _endpoints(self) -> list[dict[int, object]]:
        up = [number for number, node in enumerate(self.nodes) if node.is_up]
        return [
            {
                _NODE: number,
                _HOSTNAME: HOST,
                _ADDRESS: socket.inet_aton(HOST),
                _PORT: self.nodes[number].port,
                _ROLE: _LEADER if number == up[0] else _REPLICA,
                _ZONE: "local",
                _LEADER_SESSION: up[0],
            }
            for number in up
        ]
