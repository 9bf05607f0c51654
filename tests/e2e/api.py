"""A small typed client of the Kubernetes API: objects in, objects out, refusals as `app.local.errors`."""

import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from app.kube.hook import JSON
from app.local.errors import AlreadyExists, ApiError, Conflict, NotFound
from app.local.resources import Resource
from app.local.values import name, namespace
from tests.e2e.kinds import Kinds, path_of, root_of

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"
_APPLY = "application/apply-patch+yaml"
MANAGER = "hangar-e2e"


class Unprocessable(ApiError):
    """422: the object breaks a rule of its kind."""

    code = 422


class Unreachable(ApiError):
    """The server did not answer."""


_BY_REASON: Mapping[str, type[ApiError]] = {
    "AlreadyExists": AlreadyExists,
    "Conflict": Conflict,
    "NotFound": NotFound,
    "Invalid": Unprocessable,
}


@dataclass(frozen=True)
class Access:
    """How one account reaches an API server. `tls` trusts the server, and may hold the account's certificate."""

    url: str
    tls: ssl.SSLContext
    token: str = ""


class Api:
    """What one account can do. Kinds are named by key (`Pod.v1`), objects by `namespace/name` or `name`.

    Every method raises an `ApiError` for what the server refuses, with the server's own sentence.
    """

    def __init__(self, access: Access, agent: str = MANAGER) -> None:
        headers = {"User-Agent": agent} | ({"Authorization": f"Bearer {access.token}"} if access.token else {})
        self._http = httpx.Client(
            base_url=access.url, verify=access.tls, trust_env=False, headers=headers, timeout=httpx.Timeout(60)
        )
        self.kinds = Kinds(self._served)

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _served(self, api_version: str) -> list[JSON]:
        try:
            return list(self.call("GET", root_of(api_version))["resources"])
        except NotFound:
            return []

    def call(self, method: str, path: str, body: Any = None, content: str = "application/json", **query: Any) -> JSON:
        """One request. `query` becomes the query string; what is None or empty is left out."""
        headers = {"Content-Type": content}
        data = None if body is None else json.dumps(body).encode()
        params = {key: str(value) for key, value in query.items() if value not in (None, "")}
        try:
            return _read(self._http.request(method, path, content=data, headers=headers, params=params))
        except httpx.TransportError as error:
            raise Unreachable(f"{method} {path}: {str(error) or type(error).__name__}") from error

    def text(self, path: str) -> str:
        """What the server says under a path that is no object, for example `/readyz`."""
        answer = self._http.get(path)
        answer.raise_for_status()
        return answer.text

    def get(self, key: str, qualified: str) -> JSON:
        """The object as it is now."""
        space, _, title = qualified.rpartition("/")
        return self.call("GET", path_of(self.kinds.of_key(key), space, title))

    def find(self, key: str, qualified: str) -> JSON | None:
        """The object as it is now, or None."""
        try:
            return self.get(key, qualified)
        except NotFound:
            return None

    def all_of(self, key: str, space: str = "", selector: str = "") -> list[JSON]:
        """The objects of a kind, of one namespace where it is given, with a label selector."""
        return self.page(self.kinds.of_key(key), space, selector)[0]

    def page(self, resource: Resource, space: str = "", selector: str = "") -> tuple[list[JSON], str]:
        """The objects of a kind, and the resourceVersion from which a watch goes on."""
        found = self.call("GET", path_of(resource, space), labelSelector=selector)
        identity = {"apiVersion": resource.api_version, "kind": resource.kind}  # lists leave them out
        return [identity | one for one in found["items"] or []], str(found["metadata"]["resourceVersion"])

    def create(self, obj: JSON, *, dry_run: bool = False, strict: bool = False) -> JSON:
        """Creates an object; a `dry_run` stores nothing, `strict` refuses fields that the kind does not have."""
        return self.call(
            "POST",
            path_of(self.kinds.of(obj), namespace(obj)),
            obj,
            dryRun="All" if dry_run else None,
            fieldValidation="Strict" if strict else None,
        )

    def replace(self, obj: JSON, sub: str = "") -> JSON:
        """Replaces an object, or its subresource `status`."""
        return self.call("PUT", self._path(obj, sub), obj)

    def apply(self, obj: JSON) -> JSON:
        """Creates or changes an object by server-side apply; of fields that others set, ours counts."""
        return self.call("PATCH", self._path(obj), obj, _APPLY, fieldManager=MANAGER, force="true")

    def patch(self, obj: JSON, change: Any, sub: str = "", content: str = MERGE, *, dry_run: bool = False) -> JSON:
        """Changes an object, or its subresource `status`, by a patch of the type `content`."""
        return self.call("PATCH", self._path(obj, sub), change, content, dryRun="All" if dry_run else None)

    def bind(self, pod: JSON, node: str) -> None:
        """Puts a Pod on a node, as a scheduler does."""
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name(pod)}, "target": target}
        self.call("POST", self._path(pod, "binding"), binding)

    def delete(self, obj: JSON, *, propagation: str = "Background", grace: int | None = None, uid_is: str = "") -> None:
        """Asks for deletion."""
        options: JSON = {"propagationPolicy": propagation}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        if uid_is:
            options["preconditions"] = {"uid": uid_is}
        self.call("DELETE", self._path(obj), options)

    @contextmanager
    def watching(self, resource: Resource, version: str) -> Iterator[httpx.Response]:
        """The open response of a watch: one JSON document per line."""
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        # Silence is normal, but a server that is gone without a word is noticed after the longest watch.
        timeout = httpx.Timeout(60, read=3600)
        with self._http.stream("GET", path_of(resource), params=query, timeout=timeout) as answer:
            if answer.is_error:
                answer.read()
                _read(answer)
            yield answer

    def _path(self, obj: JSON, sub: str = "") -> str:
        return path_of(self.kinds.of(obj), namespace(obj), name(obj), sub)


def _read(answer: httpx.Response) -> JSON:
    try:
        body = answer.json()
    except ValueError:
        body = {}
    if answer.is_error:
        # A group that is not served is answered in plain text.
        missing = "NotFound" if answer.status_code == httpx.codes.NOT_FOUND else ""
        reason, message = str(body.get("reason") or missing), str(body.get("message") or answer.text)
        raise _BY_REASON.get(reason, ApiError)(message)
    return dict(body)
