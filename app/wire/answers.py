"""Answers: closed shapes, checked at the door, because Metacontroller acts on whatever it gets.

An unknown field fails a v2 sync, a null status wipes the stored one, and a child that is not listed is deleted.
"""

import hashlib
from collections.abc import Iterable
from math import isfinite
from typing import Any

import orjson

from app.kube.hook import JSON, HookController, RelatedRule, SyncAnswer, SyncRequest
from app.wire.requests import SyncHook

# orjson writes a datetime with an offset of its own choosing and a dataclass as an object: neither is meant here.
_STRICT = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS

# What the controllers keep to, in bytes of JSON. The store behind the API server takes about 1.5 MB per object.
LARGEST_STATUS = 128 * 1024


class BadAnswer(Exception):
    """A controller answered what must not be sent: a fault of Hangar's, never of the request's."""


def encode_sync(
    answer: SyncAnswer, request: SyncRequest, controller: HookController, hook: SyncHook
) -> tuple[bytes, str]:
    """The response body for `request`, and its ETag with the quotes. Raises `BadAnswer`.

    The tag holds the parent's UID, because Metacontroller keeps answers by name: a parent made again under the same
    name must not be given the old one's children.
    """
    parent = request.parent["metadata"]
    watched = {(rule.kind, rule.api_version) for rule in controller.children}
    watched.update((kind, version) for kind, _, version in (key.partition(".") for key in request.children))
    _check_children(answer.children, parent["namespace"], watched)
    if type(answer.status) is not dict:
        raise BadAnswer("the status is no object: Metacontroller would wipe the stored one")
    if not (isfinite(answer.resync_after_seconds) and answer.resync_after_seconds >= 0):
        raise BadAnswer(f"resyncAfterSeconds is {answer.resync_after_seconds}")
    document = {
        "status": answer.status,
        "children": answer.children,
        "resyncAfterSeconds": answer.resync_after_seconds,
    }
    if hook == "finalize":
        document["finalized"] = answer.finalized
    body = _dumps(document)
    return body, etag(body, parent["uid"])


def oversized_status(answer: SyncAnswer, body: bytes) -> int:
    """The size of a status that is larger than it should be, in bytes, else 0. `body` is the encoded answer.

    Such an answer is sent all the same: the API server judges the status alone, after the children were applied, and a
    refusal of the whole would keep a deployment from scaling because of what is only told about it.
    """
    if len(body) <= LARGEST_STATUS:
        return 0
    size = len(orjson.dumps(answer.status))
    return size if size > LARGEST_STATUS else 0


def etag(body: bytes, parent_uid: str) -> str:
    """The entity tag of an answer: a hash of its bytes and the parent's UID, in quotes."""
    digest = hashlib.sha256(body)
    digest.update(parent_uid.encode())
    return f'"{digest.hexdigest()[:32]}"'


def unchanged(if_none_match: str, tag: str) -> bool:
    """Whether an `If-None-Match` header names `tag` (RFC 9110 compares weakly here)."""
    return any(given.strip().removeprefix("W/") == tag for given in if_none_match.split(","))


def encode_customize(rules: Iterable[RelatedRule], controller: HookController) -> bytes:
    """The customize response body. Raises `BadAnswer`.

    A rule without names would match every object of its kind, one without a namespace those of all namespaces.
    """
    related = []
    for rule in rules:
        if (rule.api_version, rule.resource) not in controller.related:
            raise BadAnswer(f"a related rule asks for {rule.resource}, which {controller.name} does not declare")
        if not rule.names or not all(rule.names):
            raise BadAnswer(f"the related rule for {rule.resource} has no names: it would match all of them")
        if rule.namespace == "":
            raise BadAnswer(f"the related rule for {rule.resource} has an empty namespace: it would match all of them")
        shown: JSON = {"apiVersion": rule.api_version, "resource": rule.resource, "names": list(rule.names)}
        if rule.namespace is not None:
            shown["namespace"] = rule.namespace
        related.append(shown)
    return _dumps({"relatedResources": related})


def _check_children(children: list[JSON], namespace: str, watched: set[tuple[str, str]]) -> None:
    """Every child has a name of its own, lives beside its parent, and is of a kind that is watched.

    Metacontroller makes a child of any other kind and never sees it again.
    """
    seen: set[tuple[str, str, str]] = set()
    for child in children:
        try:
            metadata = child["metadata"]
            kind, api_version, name = child["kind"], child["apiVersion"], metadata["name"]
            known = (kind, api_version) in watched
            placed = metadata.get("namespace", namespace) == namespace
        except (KeyError, TypeError, AttributeError):
            raise BadAnswer("a child lacks apiVersion, kind or metadata.name") from None
        if not (known and placed and isinstance(name, str) and name):
            raise BadAnswer(f"the child {kind} {name!r} is of no declared kind, in another namespace, or unnamed")
        seen.add((kind, api_version, name))
    if len(seen) != len(children):
        raise BadAnswer("a child is listed twice")


def _dumps(document: JSON) -> bytes:
    try:
        body = orjson.dumps(document, option=_STRICT)
    except TypeError as problem:
        raise BadAnswer(f"the answer is no JSON: {problem}") from problem
    # orjson writes NaN and infinities as null. Nulls are rare, so the walk for their cause is too.
    if b"null" in body and _holds_non_finite(document):
        raise BadAnswer("the answer holds a number that is not finite")
    return body


def _holds_non_finite(value: Any) -> bool:
    if isinstance(value, float):
        return not isfinite(value)
    if isinstance(value, dict):
        return any(map(_holds_non_finite, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_non_finite, value))
    return False
