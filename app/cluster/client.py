"""Four calls of the Kubernetes API: discovery, get, list, and a merge patch; by apiVersion, kind and namespace."""

import os
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType, TracebackType
from typing import Any
from urllib.parse import quote

import httpx
import orjson

from app.cluster.errors import ClusterError, Conflict, Unauthorized
from app.cluster.kubeconfig import Access, access
from app.cluster.transport import http_client
from app.kube.hook import JSON
from app.kube.pods import mapping, maps, text
from app.kube.reader import Forbidden, NotFound, NotServed, ObjectKind, Objects, ReadError

MANAGER = "hangar"
_PAGE = 500
_MERGE = "application/merge-patch+json"


def connect(
    kubeconfig: str | None = None, context: str | None = None, environment: Mapping[str, str] | None = None
) -> "Cluster":
    """The cluster of a context of the caller's kubeconfig; nothing is asked of it yet. Raises `ConfigError`."""
    variables = os.environ if environment is None else environment
    found = access(variables, kubeconfig, context)
    return Cluster(http_client(found, variables), found)


class Cluster:
    """A cluster as its caller sees it; a `Reader`. Use it as a context manager: it holds connections.

    Every call raises `ReadError` with a sentence: NotFound, NotServed, Forbidden, Unauthorized, Conflict, ClusterError.
    """

    def __init__(self, http: httpx.Client, found: Access) -> None:
        self._http = http
        self._title = f"{found.cluster.server} ({found.title})"
        self._user = found.user_name or "nobody"
        self._resources: dict[str, Objects] = {}
        self.namespace = found.namespace

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, kind: ObjectKind, name: str, namespace: str = "") -> JSON:
        """The object of that name."""
        return self._call("GET", f"{self._path(kind, namespace)}/{quote(name, safe='')}")

    def list(
        self,
        kind: ObjectKind,
        namespace: str = "",
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> Objects:
        """All objects, read in pages; each with its apiVersion and kind, which the API leaves out in a list."""
        path, query = self._path(kind, namespace), {"limit": str(_PAGE)}
        for name, wanted in (("labelSelector", labels), ("fieldSelector", fields)):
            if wanted:
                query[name] = ",".join(f"{key}={value}" for key, value in wanted.items())
        found: Objects = []
        while True:
            page = self._call("GET", path, params=query)
            found += maps(page.get("items"))
            following = text(mapping(page.get("metadata")).get("continue"))
            if not following:
                return [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in found]
            query = {**query, "continue": following}

    def patch(self, kind: ObjectKind, name: str, changes: JSON, namespace: str = "") -> JSON:
        """Merges `changes` into the object and returns it as stored.

        With a `metadata.resourceVersion` among the changes it is a Conflict where the object has another by now.
        """
        return self._call(
            "PATCH",
            f"{self._path(kind, namespace)}/{quote(name, safe='')}",
            params={"fieldManager": MANAGER},
            content=orjson.dumps(changes),
            headers={"Content-Type": _MERGE},
        )

    def _path(self, kind: ObjectKind, namespace: str) -> str:
        root = f"apis/{kind.api_version}" if kind.group else f"api/{kind.api_version}"
        for resource in self._served(kind, root):
            if resource.get("kind") == kind.kind and "/" not in text(resource.get("name")):
                within = f"/namespaces/{quote(namespace, safe='')}" if resource.get("namespaced") and namespace else ""
                return f"{root}{within}/{text(resource.get('name'))}"
        raise NotServed(f"{self._title} serves no {kind.kind} of {kind.api_version}")

    def _served(self, kind: ObjectKind, root: str) -> Objects:
        if kind.api_version not in self._resources:
            try:
                self._resources[kind.api_version] = maps(self._call("GET", root).get("resources"))
            except NotFound:
                self._resources[kind.api_version] = []
        return self._resources[kind.api_version]

    def _call(self, method: str, path: str, **request: Any) -> JSON:
        try:
            response = self._http.request(method, path, **request)
        except httpx.TimeoutException:
            raise ClusterError(f"{self._title} did not answer in time") from None
        except httpx.HTTPError as problem:
            raise ClusterError(f"{self._title} cannot be reached: {str(problem) or type(problem).__name__}") from None
        try:
            document = orjson.loads(response.content)
        except orjson.JSONDecodeError:
            document = None
        if not response.is_success:
            raise self._refusal(response.status_code, text(mapping(document).get("message")))
        if not isinstance(document, dict):
            raise ClusterError(f"{self._title} does not answer as a Kubernetes API does: is the server's URL right?")
        return document

    def _refusal(self, code: int, message: str) -> ReadError:
        """The error of a status code, in the cluster's own words where it gives some."""
        if code == HTTPStatus.UNAUTHORIZED:
            return Unauthorized(f"{self._title} does not accept the credentials of {self._user}: log in again")
        error = _ERRORS.get(code, ClusterError)
        return error(f"{self._title}: {message or f'it answers with the HTTP status {code} and no word of why'}")


_ERRORS: Mapping[int, type[ReadError]] = MappingProxyType(
    {HTTPStatus.FORBIDDEN: Forbidden, HTTPStatus.NOT_FOUND: NotFound, HTTPStatus.CONFLICT: Conflict}
)
