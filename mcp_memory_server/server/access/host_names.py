"""Compare Host and Origin with the names of the server, exactly: another web page cannot use a browser as its proxy."""

import ipaddress
from collections.abc import Iterable

THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


class HostNames:
    """The names under which the server is reached, each with its port unless that is the default one."""

    def __init__(self, names: Iterable[str], *, secure: bool) -> None:
        self._hosts = {name.lower() for name in names}
        schemes = ("https", "http") if not secure else ("https",)
        self._origins = {f"{scheme}://{name}" for scheme in schemes for name in self._hosts}

    def has_host(self, host: str | None) -> bool:
        """Return whether the Host header names this server."""
        return host is not None and host.lower() in self._hosts

    def has_origin(self, origin: str | None) -> bool:
        """Return whether a browser's Origin is this server itself; other programs send none."""
        return origin is None or origin.lower() in self._origins


def of_this_machine(port: int, others: Iterable[str] = ()) -> HostNames:
    """Return the names of a server on loopback, and others that the operator gave it."""
    names = [f"{name}:{port}" for name in THIS_MACHINE]
    return HostNames([*names, *(THIS_MACHINE if port == 80 else ()), *others], secure=False)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach the address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
