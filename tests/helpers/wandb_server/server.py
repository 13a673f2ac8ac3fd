"""HTTP: reads requests of the W&B client, finds the operation, can be told to misbehave."""

import base64
import contextlib
import gzip
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self
from urllib.parse import unquote

from wandb_server import artifact_operations, read_operations, run_operations, sweep_operations
from wandb_server.state import State

KEY = "0123456789abcdef" * 2 + "01234567"  # forty characters
OPERATIONS = (
    run_operations.OPERATIONS
    | artifact_operations.OPERATIONS
    | sweep_operations.OPERATIONS
    | read_operations.OPERATIONS
)
NAME = re.compile(r"^\s*(?:query|mutation)\s+(\w+)", re.MULTILINE)
STREAM = re.compile(r"/files/([^/]+)/([^/]+)/([^/]+)/file_stream")
Fault = Literal["none", "500", "silence", "refuse"]


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that clients left; a mistake in an operation is noted."""


class WandbServer:
    """Serves until `stop`, or until a test lets it die.

    Attributes:
        fault: how it misbehaves: ``500`` fails every request, ``silence`` never answers,
            ``refuse`` knows no key.
        unknown: operations and addresses that it does not know.
    """

    def __init__(self) -> None:
        self.state = State()
        self.fault: Fault = "none"
        self.unknown: list[str] = []
        self.asked: list[str] = []
        self.lock = threading.Lock()
        self.stopping = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def env(self) -> dict[str, str]:
        """What makes a client talk to this server."""
        return {
            "WANDB_BASE_URL": self.url,
            "WANDB_API_KEY": KEY,
            "WANDB_ERROR_REPORTING": "false",
            "WANDB_MODE": "online",
        }

    def stop(self) -> None:
        """Listen no more: the server dies, or the test is over."""
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def execute(self, name: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Answer one GraphQL operation."""
        if name not in OPERATIONS:
            self.unknown.append(name)
            return {"errors": [{"message": f"unknown operation {name}"}]}
        try:
            with self.lock:
                return {"data": OPERATIONS[name](self.state, variables | {"@url": self.url})}
        except Exception as error:  # of the server: the test must see it
            self.unknown.append(f"{name}: {error!r}")
            return {"errors": [{"message": f"{name} failed: {error!r}"}]}


def _handler(server: WandbServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self._body()
            if self._misbehave():
                return
            if self.path == "/graphql":
                sent = json.loads(body)
                found = NAME.search(sent["query"])
                name = found[1] if found else sent["query"][:60]
                server.asked.append(name)
                self._answer(server.execute(name, sent.get("variables") or {}))
            elif found := STREAM.fullmatch(unquote(self.path)):
                with server.lock:
                    run = server.state.runs[found[2], found[3]]
                    run_operations.take_stream(run, json.loads(body))
                self._answer({})
            else:
                self._unknown()

        def do_PUT(self) -> None:
            body = self._body()
            if self._misbehave():
                return
            if self.path.startswith("/storage/"):
                with server.lock:
                    server.state.stored[unquote(self.path).removeprefix("/storage/")] = body
                self._answer({})
            else:
                self._unknown()

        def do_GET(self) -> None:
            if self._misbehave():
                return
            stored = server.state.stored.get(unquote(self.path).removeprefix("/storage/"))
            if stored is None:
                self._unknown()
            else:
                self._send(200, stored)

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                chunks = []
                while size := int(self.rfile.readline(), 16):
                    chunks.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                body = b"".join(chunks)
            else:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

        def _misbehave(self) -> bool:
            if server.stopping.is_set():
                self.close_connection = True
                return True
            if server.fault == "silence":
                server.stopping.wait(600)
                self.close_connection = True
                return True
            if server.fault == "500":
                self._send(500, b"the database is on fire")
                return True
            kind, _, given = self.headers.get("Authorization", "").partition(" ")
            known = kind == "Basic" and base64.b64decode(given) == f"api:{KEY}".encode()
            stored = self.path.startswith("/storage/")  # signed addresses need no key
            if server.fault == "refuse" or not (known or stored):
                self._send(401, json.dumps({"errors": [{"message": "permission denied"}]}).encode())
                return True
            return False

        def _unknown(self) -> None:
            server.unknown.append(f"{self.command} {self.path}")
            self._send(404, b"{}")

        def _answer(self, content: dict[str, Any]) -> None:
            self._send(200, json.dumps(content).encode())

        def _send(self, status: int, body: bytes) -> None:
            with contextlib.suppress(OSError):  # the client has gone
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Print nothing."""

    return Handler
