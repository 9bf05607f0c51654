"""What the API server demands of every object's metadata: names, labels, annotations, owners.

The words are those of kube-apiserver 1.35.
"""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from app.kube.hook import JSON
from app.local.errors import BadRequest
from app.local.schema import Problem
from app.local.values import listed, mapping, meta, name

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_SERVICE = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = rf"({_QUALIFIED})?"
_REGEX = "regex used for validation is"
_ENDS = "and must start and end with an alphanumeric character"
_WORDS = {
    _LABEL: f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS} "
    f"(e.g. 'my-name',  or '123-abc', {_REGEX} '{_LABEL}')",
    _SUBDOMAIN: "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    f"{_ENDS} (e.g. 'example.com', {_REGEX} '{_SUBDOMAIN}')",
    _SERVICE: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"{_REGEX} '{_SERVICE}')",
    _QUALIFIED: f"name part must consist of alphanumeric characters, '-', '_' or '.', {_ENDS} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', {_REGEX} '{_QUALIFIED}')",
    _VALUE: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    f"{_ENDS} (e.g. 'MyValue',  or 'my_value',  or '12345', {_REGEX} '{_VALUE}')",
}
_LONGEST = {_LABEL: 63, _SUBDOMAIN: 253, _SERVICE: 63, _QUALIFIED: 63, _VALUE: 63}
# How names of a kind are spelled.
NAME_RULES = {"subdomain": _SUBDOMAIN, "label": _LABEL, "service": _SERVICE}
# Finalizers that need no domain; kinds of Kubernetes itself take no others.
_FINALIZERS = frozenset({"foregroundDeletion", "orphan", "kubernetes"})
_DATA_KEY = "[-._a-zA-Z0-9]+"
_DATA_KEY_WORDS = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  "
    f"or 'key-name', {_REGEX} '{_DATA_KEY}')"
)
# All annotations of an object together.
_ANNOTATION_BYTES = 256 * 1024


@lru_cache(maxsize=16384)
def _misspelt(rule: str, text: str) -> str | None:
    if len(text) > _LONGEST[rule]:
        return f"must be no more than {_LONGEST[rule]} {'characters' if rule == _SUBDOMAIN else 'bytes'}"
    return None if re.fullmatch(rule, text) else _WORDS[rule]


def misspelt_label(text: str) -> str | None:
    """What is wrong with an RFC 1123 label, such as a container's name, or None."""
    return _misspelt(_LABEL, text)


@lru_cache(maxsize=16384)
def misspelt_key(key: str) -> str | None:
    """What is wrong with a qualified name such as `example.com/gate`, or None."""
    prefix, slash, tail = key.rpartition("/")
    if slash and (wrong := _misspelt(_SUBDOMAIN, prefix)):
        return f"prefix part {wrong}"
    return _misspelt(_QUALIFIED, tail)


def label_problems(path: str, labels: JSON) -> Iterator[Problem]:
    """What is wrong with a map of labels."""
    for key, value in labels.items():
        wrong = misspelt_key(key)
        if wrong:
            yield path, f"Invalid value: {json.dumps(key)}: {wrong}"
        wrong = _misspelt(_VALUE, value)
        if wrong:
            yield path, f"Invalid value: {json.dumps(value)}: {wrong}"


def metadata_problems(obj: JSON, name_rule: str) -> Iterator[Problem]:
    """What is wrong with an object's metadata. `name_rule` is a key of NAME_RULES. Raises BadRequest for a bad type."""
    metadata = meta(obj)
    for field in ("labels", "annotations"):
        require_strings(obj, metadata.get(field), f"ObjectMeta.metadata.{field}")
    wrong = _misspelt(NAME_RULES[name_rule], name(obj))
    if name_rule == "label" and "." in name(obj):
        wrong = "must not contain dots"
    if wrong:
        yield "metadata.name", f"Invalid value: {json.dumps(name(obj))}: {wrong}"
    yield from label_problems("metadata.labels", mapping(metadata.get("labels")))
    yield from _annotation_problems(mapping(metadata.get("annotations")))
    for index, finalizer in enumerate(listed(metadata.get("finalizers"))):
        if "/" not in str(finalizer) and finalizer not in _FINALIZERS and "." not in str(obj.get("apiVersion")):
            words = "name is neither a standard finalizer name nor is it fully qualified"
            yield f"metadata.finalizers[{index}]", f"Invalid value: {json.dumps(finalizer)}: {words}"
    yield from _owner_problems([mapping(one) for one in listed(metadata.get("ownerReferences"))])


def _annotation_problems(annotations: JSON) -> Iterator[Problem]:
    for key in annotations:
        wrong = misspelt_key(key.lower())
        if wrong:
            yield "metadata.annotations", f"Invalid value: {json.dumps(key)}: {wrong}"
    # Characters are at most four bytes: what is far below the bound need not be encoded to be counted.
    characters = sum(len(key) + len(value) for key, value in annotations.items())
    if characters * 4 > _ANNOTATION_BYTES:
        size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
        if size > _ANNOTATION_BYTES:
            yield "metadata.annotations", f"Too long: may not be more than {_ANNOTATION_BYTES} bytes"


def _owner_problems(references: list[JSON]) -> Iterator[Problem]:
    for reference in references:
        for field in ("apiVersion", "kind", "name", "uid"):
            if not reference.get(field):
                yield f"metadata.ownerReferences.{field}", 'Invalid value: "": must not be empty'
    controllers = [one for one in references if one.get("controller") is True]
    if len(controllers) > 1:
        first, second = (f"{one.get('kind')}/{one.get('name')}" for one in controllers[:2])
        words = (
            f'Only one reference can have Controller set to true. Found "true" in references for {first} and {second}'
        )
        yield "metadata.ownerReferences", f"Invalid value: {json.dumps(references, separators=(',', ':'))}: {words}"


def data_problems(data: JSON) -> Iterator[Problem]:
    """Keys of a ConfigMap or Secret that could be no file."""
    for key in data:
        if not re.fullmatch(_DATA_KEY, key):
            yield f"data[{key}]", f"Invalid value: {json.dumps(key)}: {_DATA_KEY_WORDS}"


def require_strings(obj: JSON, found: Any, field: str) -> None:
    """Raises BadRequest unless `found` is a map of strings, or nothing; `field` is its name in the API's Go types."""
    if found is None or (isinstance(found, dict) and all(isinstance(value, str) for value in found.values())):
        return
    first = found
    if isinstance(found, dict):
        first = next(value for value in found.values() if not isinstance(value, str))
    raise wrong_type(obj, first, field, "string")


def wrong_type(obj: JSON, value: Any, field: str, go_type: str) -> BadRequest:
    """The refusal of a value that the field's Go type cannot hold."""
    version = str(obj.get("apiVersion", "")).rpartition("/")[2]
    names = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    found = names.get(type(value), "null")
    words = f"json: cannot unmarshal {found} into Go struct field {field} of type {go_type}"
    return BadRequest(f'{obj.get("kind")} in version "{version}" cannot be handled as a {obj.get("kind")}: {words}')
