"""Calling one hook over HTTP: authorization, status codes, Retry-After, ETags."""

import base64
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local import answers
from app.local.clock import Clock
from app.local.errors import ApiError
from app.local.network import DELAY
from app.local.store import Store
from app.local.values import listed, mapping, name, namespace

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


class ControllerInvalid(ValueError):
    """A controller object that Metacontroller does not start; the sentence says why."""


class HookError(Exception):
    """A call that failed; the message is the one of the event, without its prefix."""


class TooManyRequests(Exception):
    """429: try again after that many seconds, without an event."""

    def __init__(self, after: float) -> None:
        super().__init__(f"too many requests: retry after {after} s")
        self.after = after


class Webhook:
    """One hook of a controller object, for example its `sync`."""

    def __init__(self, hook: str, spec: JSON, header: str, client: httpx.Client, clock: Clock) -> None:
        webhook = mapping(spec.get("webhook"))
        if spec.get("version") != "v2":
            raise ControllerInvalid(
                f"the {hook} hook has version {spec.get('version', 'v1')!r}: only v2 is spoken here"
            )
        etag = mapping(webhook.get("etag"))
        if etag.get("enabled") and ("cacheTimeoutSeconds" in etag) and ("cacheCleanupSeconds" not in etag):
            # The real one panics here, over and over, and never starts the controller.
            raise ControllerInvalid(
                f"the {hook} hook's etag has cacheTimeoutSeconds without cacheCleanupSeconds: set both"
            )
        self.hook = hook
        self.seconds = 0.0
        self._url = url_of(webhook)
        self._header = header
        self._timeout = _seconds(str(webhook.get("timeout", "10s")))
        self._client = client
        self._clock = clock
        self._etags: EtagCache | None = None
        if etag.get("enabled"):
            self._etags = EtagCache(clock, etag.get("cacheTimeoutSeconds", 0))

    def call(self, request: JSON, fields: Mapping[str, Any], kind: str) -> JSON:
        """Posts `request` and reads the answer. Raises HookError, TooManyRequests.

        `seconds` is then how much simulated time that took.
        """
        self.seconds = 0.0
        root = request["parent"]
        headers = {"Content-Type": "application/json"}
        if self._header:
            headers["Authorization"] = self._header
        known = self._etags.get(root) if self._etags else None
        if known:
            headers["If-None-Match"] = known[0]
        try:
            response = self._client.post(self._url, content=dumps(request), headers=headers, timeout=self._timeout)
        except httpx.HTTPError as error:
            raise HookError(f'http error: Post "{self._url}": {str(error) or type(error).__name__}') from error
        self.seconds = min(float(response.extensions.get(DELAY, 0)), self._timeout)
        if self.seconds >= self._timeout:
            words = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
            raise HookError(f'http error: Post "{self._url}": {words}')
        if response.status_code == 429:
            raise TooManyRequests(self._retry_after(response.headers.get("Retry-After", "")))
        try:
            return answers.read(self._body(response, root, known), fields, kind, self.hook)
        except answers.AnswerError as error:
            raise HookError(str(error)) from error

    def _body(self, response: httpx.Response, root: JSON, known: tuple[str, bytes] | None) -> bytes:
        if known and response.status_code in {304, 412}:
            return known[1]
        if response.status_code != 200:
            raise HookError(f"unsupported status code: {response.status_code} body: {response.text}")
        if self._etags and response.headers.get("ETag"):
            self._etags.put(root, response.headers["ETag"], response.content)
        return response.content

    def _retry_after(self, value: str) -> float:
        """Whole seconds or an HTTP date; anything else is read as zero, as the real one does."""
        if re.fullmatch(r"[+-]?[0-9]+", value):
            return float(value)
        try:
            return float(math.ceil((parsedate_to_datetime(value) - self._clock.now()).total_seconds()))
        except (TypeError, ValueError):
            return 0.0


class EtagCache:
    """Bodies by kind, namespace and name of the parent, not by its UID: a parent made anew meets the old entry."""

    def __init__(self, clock: Clock, timeout_seconds: int) -> None:
        self._clock = clock
        self._timeout = timeout_seconds
        self._entries: dict[tuple[str, str, str], tuple[str, bytes, float]] = {}

    def get(self, root: JSON) -> tuple[str, bytes] | None:
        """The tag and body that were answered last for this name, unless they are older than the time-out."""
        found = self._entries.get((root["kind"], namespace(root), name(root)))
        if found is None or (self._timeout > 0 and self._clock.elapsed - found[2] > self._timeout):
            return None
        return found[0], found[1]

    def put(self, root: JSON, tag: str, body: bytes) -> None:
        """Keeps an answer."""
        self._entries[root["kind"], namespace(root), name(root)] = (tag, body, self._clock.elapsed)


def url_of(webhook: JSON) -> str:
    """The address of a hook: its `url`, or its `service` and `path`. Raises ControllerInvalid."""
    if webhook.get("url"):
        return str(webhook["url"])
    service, path = mapping(webhook.get("service")), webhook.get("path")
    if not service or not path:
        raise ControllerInvalid(
            "invalid webhook config: must specify either a full 'url', or both 'service' and 'path'"
        )
    host = f"{service.get('name')}.{service.get('namespace')}:{service.get('port', 80)}"
    return f"{service.get('protocol', 'http')}://{host}{path}"


def authorization(store: Store, controller: JSON, webhook: JSON) -> str:
    """The Authorization header of a hook, from its own `authorization` or the endpointConfig of its host.

    Empty where none is configured. Raises ControllerInvalid when the Secret or its key is missing.
    """
    found = mapping(webhook.get("authorization"))
    if not found:
        parts = urlsplit(url_of(webhook))
        hosts = {parts.netloc, f"{parts.hostname}:{parts.port or {'https': 443}.get(parts.scheme, 80)}"}
        configs = listed(mapping(controller.get("spec")).get("endpointConfigs"))
        matching = [one for one in configs if str(one.get("host", "")).lower() in hosts]
        found = mapping(matching[0].get("authorization")) if matching else {}
    if not found:
        return ""
    reference = mapping(found.get("secretRef"))
    space, title, key = (str(reference.get(part, "")) for part in ("namespace", "name", "key"))
    try:
        data = mapping(store.get(store.discovery.kind("v1", "Secret"), space, title).get("data"))
    except ApiError as error:
        raise ControllerInvalid(f"can't get authorization secret {space}/{title}: {error}") from error
    if key not in data:
        raise ControllerInvalid(f'authorization secret {space}/{title} does not contain key "{key}"')
    return f"{found.get('type') or 'Bearer'} {base64.b64decode(data[key]).decode().strip()}"


def _seconds(duration: str) -> float:
    """A Go duration such as `30s` or `1m30s`, in seconds."""
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise ControllerInvalid(f"the timeout {duration!r} is no duration: write for example 30s")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
