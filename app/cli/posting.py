"""Posting a recorded request to any hook that runs, the way Metacontroller does."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import orjson

from app.cli.problems import CommandError
from app.cli.recording import Answer, hook_of
from app.kube.hook import JSON
from app.kube.pods import mapping

_DEFAULT_TIMEOUT = "10s"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class RunningHook:
    """A hook behind a URL; `token` is sent as a bearer token, if it is not empty.

    A URL without a path is completed with the path of the controller object in each request.
    """

    url: str
    token: str = ""

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise CommandError(f"{self.url} is no URL of a hook: write for example http://127.0.0.1:8080")

    @property
    def has_path(self) -> bool:
        """Whether the URL names one hook, and not only where hooks are."""
        return urlsplit(self.url).path not in {"", "/"}

    def check(self, requests: Sequence[Any]) -> None:
        """One URL is one hook: raises `CommandError` where requests to several are to be posted to it."""
        hooks = sorted({hook_of(request) for request in requests})
        if self.has_path and len(hooks) > 1:
            words = " and ".join((", ".join(hooks[:-1]), hooks[-1]))
            raise CommandError(f"{self.url} is one hook, and there are cases of {words}: leave out its path")

    def answer(self, request: Any) -> Answer:
        """What the hook answers. Raises `CommandError` where it gives no answer within Metacontroller's time-out."""
        url = self.url if self.has_path else self.url.rstrip("/") + _path(request)
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        seconds = _seconds(mapping(_webhook(request)).get("timeout"))
        try:
            with httpx.Client(trust_env=False, timeout=seconds, follow_redirects=True) as client:
                response = client.post(url, content=orjson.dumps(request), headers=headers)
        except httpx.TimeoutException:
            raise CommandError(
                f"{url} gave no answer within {seconds:g} s, which is how long it is waited for"
            ) from None
        except httpx.HTTPError as problem:
            raise CommandError(f"{url} cannot be reached: {problem}; is the hook running?") from None
        return Answer.of(response)


def token_in(path: Path) -> str:
    """The bearer token in a file: its first line. Raises `CommandError` where there is none."""
    try:
        token = path.read_text(encoding="utf-8").strip().partition("\n")[0].strip()
    except OSError as problem:
        raise CommandError(f"{path}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not a text file in UTF-8") from None
    if not (token and token.isascii() and token.isprintable()):
        raise CommandError(f"{path} holds no token: write it into the first line")
    return token


def _webhook(request: Any) -> JSON:
    """The webhook of the recorded controller object that the request was sent to."""
    hooks = mapping(mapping(mapping(mapping(request).get("controller")).get("spec")).get("hooks"))
    return mapping(mapping(hooks.get(hook_of(request))).get("webhook"))


def _path(request: Any) -> str:
    webhook = _webhook(request)
    path = webhook.get("path") or urlsplit(str(webhook.get("url", ""))).path
    if not isinstance(path, str) or not path.startswith("/"):
        raise CommandError(
            f"the controller in the request names no path for {hook_of(request)}: give --url the whole address"
        )
    return path


def _seconds(duration: Any) -> float:
    """A Go duration such as `1m30s`; Metacontroller's default where it is none."""
    text = duration if isinstance(duration, str) else _DEFAULT_TIMEOUT
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts) or 10.0
