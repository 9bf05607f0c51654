"""Calling one hook over HTTP: status codes, Retry-After, ETags, time-outs."""

import math
import re
from collections.abc import Generator
from email.utils import parsedate_to_datetime

import httpx

from app.kube.canonical import dumps
from app.kube.hook import JSON
from app.local import answers
from app.local.answers import Shape
from app.local.authorization import ControllerInvalid, url_of
from app.local.clock import Clock
from app.local.etags import EtagCache
from app.local.network import DELAY
from app.local.values import mapping

# What a call is: it yields the simulated seconds that it takes, and returns the answer.
Call = Generator[float, None, JSON]

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DEFAULT_TIMEOUT = 10.0


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
        self.hook = hook
        self._url = url_of(webhook)
        self._target = httpx.URL(self._url)
        self._strict = webhook.get("responseUnMarshallMode", "strict") == "strict"
        self._header = header
        self._timeout = _seconds(str(webhook.get("timeout", "10s")))
        self._client = client
        self._clock = clock
        self._etags = EtagCache.of(clock, hook, webhook)

    def call(self, request: JSON, root: JSON, shape: Shape) -> Call:
        """Posts `request` about the object `root` and reads the answer. Raises HookError, TooManyRequests."""
        headers = {"Content-Type": "application/json"}
        if self._header:
            headers["Authorization"] = self._header
        known = self._etags.get(root) if self._etags else None
        if known:
            headers["If-None-Match"] = known[0]
        try:
            response = self._client.post(self._target, content=dumps(request), headers=headers, timeout=self._timeout)
        except httpx.HTTPError as error:
            raise HookError(f'http error: Post "{self._url}": {str(error) or type(error).__name__}') from error
        yield from self._wait(float(response.extensions.get(DELAY, 0)))
        if response.status_code == 429:
            raise TooManyRequests(self._retry_after(response.headers.get("Retry-After", "")))
        try:
            return answers.read(self._body(response, root, known), shape, self.hook, strict=self._strict)
        except answers.AnswerError as error:
            raise HookError(str(error)) from error

    def _wait(self, seconds: float) -> Generator[float]:
        if seconds > 0:
            yield min(seconds, self._timeout)
        if seconds >= self._timeout:
            words = "net/http: request canceled (Client.Timeout exceeded while awaiting headers)"
            raise HookError(f'http error: Post "{self._url}": {words}')

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


def _seconds(duration: str) -> float:
    """A Go duration such as `30s` or `1m30s`, in seconds; the default where it is not above zero."""
    parts = re.findall(r"([0-9.]+)(ns|us|µs|ms|s|m|h)", duration)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) or _DEFAULT_TIMEOUT
