"""Reading a user's manifests: YAML files as the API server would take them, and each mistake with its place.

The YAML is read as Kubernetes reads it: timestamps stay strings, a key that comes twice is a mistake.
"""

import re
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from app.api.kinds import KINDS, Kind
from app.api.problems import sentence
from app.cli.problems import CommandError
from app.kube.hook import JSON
from app.kube.names import API_VERSION

STDIN = "-"
_ENVELOPE = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True, slots=True)
class Document:
    """One object of a file."""

    source: str
    obj: JSON

    @property
    def title(self) -> str:
        """How messages name it, for example `qwen.yaml: ModelDeployment team-a/qwen`."""
        metadata = self.obj.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        name = "/".join(str(metadata[part]) for part in ("namespace", "name") if metadata.get(part))
        return f"{self.source}: {self.obj.get('kind') or 'an object without kind'} {name or 'without a name'}"

    def mistake(self, problem: str) -> CommandError:
        """The error that says where and what."""
        return CommandError(f"{self.title}: {problem}")


class _Loader(yaml.SafeLoader):
    """YAML as Kubernetes reads it."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} comes twice", problem_mark=key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(files: Sequence[str]) -> list[Document]:
    """The objects of all files, checked as far as their models can; `-` is standard input.

    Raises `CommandError` with file, object and field of the first mistake.
    """
    found = [document for file in files for document in _documents(file)]
    check(found)
    return found


def check(documents: Sequence[Document]) -> None:
    """Checks objects as far as their models can, and that none comes twice. Raises `CommandError`."""
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        _check(document)
        metadata = document.obj["metadata"]
        identity = (document.obj["kind"], metadata.get("namespace", ""), metadata["name"])
        if identity in seen:
            raise document.mistake(f"this object is in {seen[identity].source} already; keep one of the two")
        seen[identity] = document


def parsed(file: str) -> list[Any]:
    """The YAML documents of a file; `-` is standard input. Raises `CommandError` with the place of a mistake."""
    source = _source(file)
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text(encoding="utf-8")
        return [one for one in yaml.load_all(text, Loader=_Loader) if one is not None]
    except OSError as problem:
        raise CommandError(f"{source}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise CommandError(f"{source} is not a text file in UTF-8") from None
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise CommandError(f"{source}{where}: not YAML as Kubernetes reads it: {problem.problem}") from None
    except yaml.YAMLError as problem:
        raise CommandError(f"{source}: not YAML: {str(problem).splitlines()[0]}") from None


def _source(file: str) -> str:
    return "standard input" if file == STDIN else file


def _documents(file: str) -> Iterator[Document]:
    source = _source(file)
    for number, item in enumerate(parsed(file), start=1):
        if not isinstance(item, dict):
            raise CommandError(f"{source}: document {number} is no object: write apiVersion, kind, metadata and spec")
        yield Document(source, item)


def _check(document: Document) -> None:
    obj = document.obj
    for field in ("apiVersion", "kind"):
        if not isinstance(obj.get(field), str):
            raise document.mistake(f"{field} is missing: write for example {field}: {_EXAMPLE[field]}")
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise document.mistake("metadata.name is missing: give the object a name (a string)")
    kind = next((one for one in KINDS if one.kind == obj["kind"]), None)
    if kind is None:
        if obj["apiVersion"] == API_VERSION:
            known = ", ".join(one.kind for one in KINDS)
            raise document.mistake(f"kind: {API_VERSION} has no kind {obj['kind']}; it has {known}")
        return
    if obj["apiVersion"] != API_VERSION:
        raise document.mistake(f"apiVersion is {obj['apiVersion']}: Hangar's {kind.kind} has {API_VERSION}")
    _check_kind(document, kind)


_EXAMPLE = {"apiVersion": API_VERSION, "kind": "ModelDeployment"}


def _check_kind(document: Document, kind: Kind) -> None:
    unknown = sorted(str(field) for field in document.obj if field not in _ENVELOPE)
    if unknown:
        raise document.mistake(f"{unknown[0]}: no such field; what is declared goes under spec")
    if not kind.namespaced and "namespace" in document.obj["metadata"]:
        raise document.mistake(f"metadata.namespace: an {kind.kind} belongs to the whole cluster; remove the namespace")
    name = document.obj["metadata"]["name"]
    if kind.name is not None and not (re.search(kind.name["pattern"], name) and len(name) <= kind.name["maxLength"]):
        rule = "begin with a lower-case letter and hold only a-z, 0-9 and -, the last no -"
        most = kind.name["maxLength"]
        raise document.mistake(f"metadata.name: {name!r} must {rule}, and have at most {most} characters")
    if not isinstance(document.obj.get("spec"), dict):
        raise document.mistake("spec is missing")
    try:
        kind.spec.model_validate(document.obj["spec"])
    except ValidationError as error:
        raise document.mistake(sentence(error, "spec")) from None
