"""A Metacontroller hook that has nothing to do with models: a Greeting becomes a ConfigMap that holds its text.

    python hook.py --port 8083

It answers POST /sync and prints its address once it listens; port 0 takes a free one.
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

JSON = dict[str, Any]


def sync(request: JSON) -> JSON:
    """What should exist for this parent, and its status. The same request always gets the same answer."""
    parent = request["parent"]
    spec, metadata = parent["spec"], parent["metadata"]
    data = {"text": f"{spec.get('greeting', 'Hello')}, {spec['name']}!"}
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "data": data,
    }
    there = request["children"]["ConfigMap.v1"].get(f"{metadata['namespace']}/{metadata['name']}", {})
    return {"status": {"text": data["text"], "written": there.get("data") == data}, "children": [config_map]}


class Handler(BaseHTTPRequestHandler):
    """Turns bytes into a request and the answer into bytes; what it cannot read is a 4xx, never an empty answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answers one call."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path != "/sync":
            self._send(404, b"there is only /sync", "text/plain")
            return
        try:
            answer = sync(json.loads(body))
        except (ValueError, KeyError, TypeError) as problem:
            self._send(422, f"the request cannot be read: {problem!r}".encode(), "text/plain")
            return
        self._send(200, json.dumps(answer).encode(), "application/json")

    def _send(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Keeps standard error for mistakes."""


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(description="A Metacontroller hook for Greetings.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8083)
    options = parser.parse_args()
    server = ThreadingHTTPServer((options.host, options.port), Handler)
    print(f"http://{options.host}:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
