"""A node: it listens, serves one client for each connection, and fails as it is told to."""

import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from tests.dax_server import replies
from tests.dax_server.calls import Call, Method, read_call, read_greeting
from tests.dax_server.cbor import Reader, encoded
from tests.dax_server.cluster import Shared
from tests.dax_server.reading import Reading
from tests.dax_server.table import TableError
from tests.dax_server.writing import Writing

HOST = "127.0.0.1"

_A_MOMENT = 0.005
_AT_ONCE = struct.pack("ii", 1, 0)

Endpoints = Callable[[], list[dict[int, object]]]


class Node:
    """One node, or the address of the whole cluster, which answers like one."""

    def __init__(self, shared: Shared, number: int, endpoints: Endpoints) -> None:
        self._shared = shared
        self._endpoints = endpoints
        reading, writing = Reading(shared, number), Writing(shared, number)
        self._answers: dict[Method, Callable[[Call], bytes]] = {
            Method.ENDPOINTS: lambda _: encoded(self._endpoints()),
            Method.KEY_SCHEMA: self._key_schema,
            Method.ATTRIBUTE_LIST: lambda call: encoded(list(shared.lists.names(call.arguments[0]))),
            Method.ATTRIBUTE_LIST_ID: lambda call: encoded(shared.lists.number(tuple(call.arguments[0]))),
            Method.GET_ITEM: reading.get_item,
            Method.BATCH_GET_ITEM: reading.batch_get_item,
            Method.TRANSACT_GET_ITEMS: reading.transact_get_items,
            Method.QUERY: reading.query,
            Method.SCAN: reading.scan,
            Method.PUT_ITEM: writing.put_item,
            Method.UPDATE_ITEM: writing.update_item,
            Method.DELETE_ITEM: writing.delete_item,
            Method.BATCH_WRITE_ITEM: writing.batch_write_item,
            Method.TRANSACT_WRITE_ITEMS: writing.transact_write_items,
        }
        self._listener: socket.socket | None = None
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = 0
        self.hangs = False
        self.drops = 0
        """How many answers to calls about items are still to be lost after the calls were carried out."""

    @property
    def is_up(self) -> bool:
        return self._listener is not None

    def start(self) -> None:
        """Listen, on the same port as before if there was one."""
        if self._listener is None:
            self._listener = socket.create_server((HOST, self.port), backlog=128)
            self.port = self._listener.getsockname()[1]
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening and break every connection, in the middle of a call too. New ones are refused."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
                    connection.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with self._lock:
            self._connections.add(plain)
        try:
            with suppress(OSError, EOFError), self._secured(plain) as connection, connection.makefile("rb") as stream:
                self._talk(connection, Reader(stream))
        finally:
            with self._lock:
                self._connections.discard(plain)
            plain.close()

    def _secured(self, connection: socket.socket) -> socket.socket:
        certificate = self._shared.options.certificate
        if certificate is None:
            return connection
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        return context.wrap_socket(connection, server_side=True)

    def _talk(self, connection: socket.socket, reader: Reader) -> None:
        read_greeting(reader)
        is_known = False
        while True:
            call = read_call(reader)
            while self.hangs:
                time.sleep(_A_MOMENT)
            if call.method is Method.AUTHORIZE:
                access_key, signature, signed, *_ = call.arguments
                is_known = self._shared.is_authentic(access_key, signature, signed)
                continue  # the answer, if there is one, comes with the next call
            if not is_known:
                connection.sendall(replies.not_authentic())
                return
            answer = self._answer(call)
            if self._is_lost(call):
                return
            connection.sendall(answer)

    def _answer(self, call: Call) -> bytes:
        self._shared.counts[f"cluster.{call.method.name}"] += 1
        try:
            return replies.SUCCESS + self._answers[call.method](call)
        except TableError as error:
            return replies.failure(error)

    def _is_lost(self, call: Call) -> bool:
        about_items = call.method not in (
            Method.ENDPOINTS,
            Method.KEY_SCHEMA,
            Method.ATTRIBUTE_LIST,
            Method.ATTRIBUTE_LIST_ID,
        )
        with self._lock:
            lost = about_items and self.drops > 0
            self.drops -= lost
        return lost

    def _key_schema(self, call: Call) -> bytes:
        return encoded(dict(self._shared.table.schema(call.arguments[0].decode()).parts))
