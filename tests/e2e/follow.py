"""Following one kind: a list, then a watch, and again from the list where the server says that it must."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx

from app.kube.hook import JSON
from app.local.errors import ApiError
from app.local.resources import Resource
from tests.e2e.api import Api

Listed = Callable[[list[JSON]], None]
Changed = Callable[[str, JSON], None]
_AGAIN_SECONDS = 0.3


class Follower:
    """Calls `changed` with each change, in a thread of its own, and `listed` where it had to list anew."""

    def __init__(self, api: Api, resource: Resource, listed: Listed, changed: Changed) -> None:
        self._api = api
        self._resource = resource
        self._listed = listed
        self._changed = changed
        self._version = ""
        self._socket: socket.socket | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"follow-{resource.plural}", daemon=True)

    def start(self) -> list[JSON]:
        """The objects as they are, which are followed from there on. Raises ApiError."""
        found, self._version = self._api.page(self._resource)
        self._thread.start()
        return found

    def stop(self) -> None:
        """Ends the thread: nothing is told any more."""
        self._stopped.set()
        held = self._socket
        if held is not None:
            with suppress(OSError):  # the server may have closed it first
                held.shutdown(socket.SHUT_RDWR)  # wakes the thread, which waits for the next line
        self._thread.join(10)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._watch()
            except (httpx.HTTPError, ApiError, OSError):
                if self._stopped.wait(_AGAIN_SECONDS):
                    return
                self._list_again()

    def _list_again(self) -> None:
        try:
            found, self._version = self._api.page(self._resource)
        except ApiError:
            return  # away for the moment: the watch fails too, and this comes round again
        self._listed(found)

    def _watch(self) -> None:
        with self._api.watching(self._resource, self._version) as answer:
            self._socket = _socket_of(answer)
            if self._stopped.is_set():
                return
            for line in answer.iter_lines():
                self._take(json.loads(line))
                if self._stopped.is_set():
                    return

    def _take(self, event: JSON) -> None:
        obj: JSON = event["object"]
        if event["type"] == "ERROR":
            raise ApiError(str(obj.get("message")))
        self._version = obj["metadata"]["resourceVersion"]
        if event["type"] != "BOOKMARK":
            self._changed(event["type"], obj)


def _socket_of(answer: httpx.Response) -> socket.socket | None:
    found: Any = answer.extensions["network_stream"].get_extra_info("socket")
    return found if isinstance(found, socket.socket) else None
