"""The plain types between the wire and the controllers: a request, its answer, and who answers.

Metacontroller's protocol is turned into these by `app.wire` alone; a controller never sees bytes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from app.settings import ControllerSettings

# One Kubernetes object (or a part of one) as parsed JSON.
JSON = dict[str, Any]
# Metacontroller's two-level map: "Pod.v1" -> "namespace/name" (or "name" for cluster-scoped kinds) -> object.
ObjectMap = Mapping[str, Mapping[str, JSON]]

UpdateMethod = Literal["OnDelete", "InPlace"]


class Unreadable(ValueError):
    """A request that cannot be understood: answered with a 4xx, so that Metacontroller changes nothing.

    `path` is the JSON path of the offending field; `problem` says what is wrong and what to do.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path = path
        self.problem = problem


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """One sync or finalize call. Objects are dicts as observed: nothing of them was validated but identity."""

    parent: JSON
    children: ObjectMap
    related: ObjectMap
    finalizing: bool = False


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    """What should exist, and the status.

    `children` must hold every observed child that is to stay: what is missing is deleted.
    `resync_after_seconds` of 0 asks for no further call. `finalized` is read by finalize alone.
    """

    status: JSON
    children: list[JSON]
    resync_after_seconds: float = 0
    finalized: bool = False


@dataclass(frozen=True, slots=True)
class RelatedRule:
    """Objects that a parent wants to see, by name. `namespace` is None for cluster-scoped kinds only."""

    api_version: str
    resource: str
    names: tuple[str, ...]
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class ChildRule:
    """A kind of child with its update strategy, which is always stated: Metacontroller's default hides edits."""

    api_version: str
    resource: str
    kind: str
    method: UpdateMethod

    @property
    def key(self) -> str:
        """The key under which Metacontroller lists this kind, for example `Deployment.apps/v1`."""
        return f"{self.kind}.{self.api_version}"


Sync = Callable[[SyncRequest, datetime, ControllerSettings], SyncAnswer]
Customize = Callable[[JSON, ControllerSettings], tuple[RelatedRule, ...]]


@dataclass(frozen=True, slots=True)
class HookController:
    """One CompositeController: its parent kind, its children, and the three pure functions that answer for it.

    `name` is the controller object's name and the first segment of its routes.
    """

    name: str
    api_version: str
    kind: str
    resource: str
    children: tuple[ChildRule, ...]
    sync: Sync
    finalize: Sync
    customize: Customize
    related: tuple[tuple[str, str], ...] = field(default=())  # (apiVersion, resource) it may ask for: RBAC
