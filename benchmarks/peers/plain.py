"""A hook that does nothing, on the standard library: it decodes a request and encodes the answer that it was given.

`python -m benchmarks.peers.plain FOLDER` serves as the Go hook does: POST /N is answered with FOLDER/N.json, the first
line on standard output is the port, and the process ends when its standard input does.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Hook(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"  # connections are kept alive
    # Else the head and the body of an answer are two packets, of which the second waits for the first's receipt.
    disable_nagle_algorithm = True
    wbufsize = -1
    answers: dict[str, Any] = {}  # noqa: RUF012 - filled once, before anything is served

    def do_POST(self) -> None:
        if self.path not in self.answers:
            self.send_error(404)
            return
        json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        encoded = json.dumps(self.answers[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    def log_message(self, *_said: Any) -> None:
        """Nothing is logged."""


def main() -> None:
    for path in Path(sys.argv[1]).glob("*.json"):
        Hook.answers[f"/{path.stem}"] = json.loads(path.read_bytes())
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.daemon_threads = True
    print(server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
