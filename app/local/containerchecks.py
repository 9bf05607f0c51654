"""What the API server refuses in a container: the part of it that a controller runs into, in the server's words."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.kube import quantities
from app.kube.hook import JSON
from app.local.metadata import misspelt_label
from app.local.schema import Problem
from app.local.values import listed, mapping

PORT_WORDS = "must be between 1 and 65535, inclusive"
_VARIABLE = re.compile(r"[ -<>-~]+")
_VARIABLE_WORDS = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_PROBES = ("startupProbe", "readinessProbe", "livenessProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_CHOICES = {"imagePullPolicy": ("Always", "IfNotPresent", "Never")}


def choice_problems(holder: JSON, choices: Mapping[str, tuple[str, ...]], path: str) -> Iterator[Problem]:
    """Fields of `holder` that hold another value than those they may."""
    for field, supported in choices.items():
        if field in holder and holder[field] not in supported:
            shown = ", ".join(f'"{one}"' for one in supported)
            yield f"{path}.{field}", f"Unsupported value: {json.dumps(holder[field])}: supported values: {shown}"


def name_problems(holder: JSON, names: set[str], path: str) -> Iterator[Problem]:
    """A name has to be there, spelled as a label, and told apart from those before it, which `names` collects."""
    found = holder.get("name")
    if not found:
        yield f"{path}.name", "Required value"
        return
    wrong = misspelt_label(str(found))
    if wrong:
        yield f"{path}.name", f"Invalid value: {json.dumps(found)}: {wrong}"
    elif found in names:
        yield f"{path}.name", f"Duplicate value: {json.dumps(found)}"
    names.add(str(found))


def container_problems(container: JSON, names: set[str], volumes: set[str], path: str) -> Iterator[Problem]:
    """Everything that is wrong with a container; `volumes` are the names of the Pod's volumes."""
    yield from name_problems(container, names, path)
    if not container.get("image"):
        yield f"{path}.image", "Required value"
    yield from choice_problems(container, _CHOICES, path)
    yield from _port_problems(listed(container.get("ports")), f"{path}.ports")
    yield from _variable_problems(listed(container.get("env")), f"{path}.env")
    yield from _mount_problems(listed(container.get("volumeMounts")), volumes, f"{path}.volumeMounts")
    for field in _PROBES:
        if field in container:
            yield from _probe_problems(mapping(container[field]), f"{path}.{field}")
    for field, handler in mapping(container.get("lifecycle")).items():
        yield from _handler_problems(mapping(handler), f"{path}.lifecycle.{field}")
    yield from _resource_problems(mapping(container.get("resources")), f"{path}.resources")


def _port_problems(ports: list[Any], path: str) -> Iterator[Problem]:
    names: list[Any] = []
    for index, port in enumerate(ports):
        number, title = mapping(port).get("containerPort"), mapping(port).get("name")
        if not number:
            yield f"{path}[{index}].containerPort", "Required value"
        elif not 1 <= number <= 65535:
            yield f"{path}[{index}].containerPort", f"Invalid value: {number}: {PORT_WORDS}"
        if title:
            for wrong in misspelt_port(str(title)):
                yield f"{path}[{index}].name", f"Invalid value: {json.dumps(title)}: {wrong}"
            if title in names:
                yield f"{path}[{index}].name", f"Duplicate value: {json.dumps(title)}"
        names.append(title)


def misspelt_port(title: str) -> Iterator[str]:
    """What is wrong with the name of a port."""
    if len(title) > 15:
        yield "must be no more than 15 characters"
    if not re.fullmatch("[-a-z0-9]+", title):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search("[a-z]", title):
        yield "must contain at least one letter (a-z)"
    if "--" in title:
        yield "must not contain consecutive hyphens"
    if title.startswith("-") or title.endswith("-"):
        yield "must not begin or end with a hyphen"


def _variable_problems(variables: list[Any], path: str) -> Iterator[Problem]:
    for index, variable in enumerate(variables):
        found = mapping(variable).get("name")
        if not found:
            yield f"{path}[{index}].name", "Required value"
        elif not _VARIABLE.fullmatch(str(found)):
            yield f"{path}[{index}].name", f"Invalid value: {json.dumps(found)}: {_VARIABLE_WORDS}"


def _mount_problems(mounts: list[Any], volumes: set[str], path: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, mount in enumerate(mounts):
        found, where = mapping(mount).get("name"), mapping(mount).get("mountPath")
        if found not in volumes:
            yield f"{path}[{index}].name", f"Not found: {json.dumps(found)}"
        if not where:
            yield f"{path}[{index}].mountPath", "Required value"
        elif where in seen:
            yield f"{path}[{index}].mountPath", f"Invalid value: {json.dumps(where)}: must be unique"
        seen.add(str(where))


def _probe_problems(probe: JSON, path: str) -> Iterator[Problem]:
    yield from _handler_problems(probe, path)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        if probe.get(field, 0) < 0:
            yield f"{path}.{field}", f"Invalid value: {probe[field]}: must be greater than or equal to 0"
    if not path.endswith(".readinessProbe") and probe.get("successThreshold", 1) > 1:
        yield f"{path}.successThreshold", f"Invalid value: {probe['successThreshold']}: must be 1"


def _handler_problems(handler: JSON, path: str) -> Iterator[Problem]:
    """Of several ways to ask a container exactly one is stated."""
    stated = [one for one in (*_HANDLERS, "sleep") if one in handler]
    if not stated:
        yield path, "Required value: must specify a handler type"
    for one in stated[1:]:
        yield f"{path}.{one}", "Forbidden: may not specify more than 1 handler type"
    for one in ("httpGet", "tcpSocket"):
        if one in handler:
            port = mapping(handler[one]).get("port", 0)
            if isinstance(port, int) and not 1 <= port <= 65535:
                yield f"{path}.{one}.port", f"Invalid value: {port}: {PORT_WORDS}"


def _resource_problems(resources: JSON, path: str) -> Iterator[Problem]:
    limits, requests = mapping(resources.get("limits")), mapping(resources.get("requests"))
    for kind, amounts in (("limits", limits), ("requests", requests)):
        for key, amount in amounts.items():
            value = quantities.parse(amount)
            if value < 0:
                yield f"{path}.{kind}[{key}]", f'Invalid value: "{amount}": must be greater than or equal to 0'
            elif "/" in key and value.denominator != 1:
                yield f"{path}.{kind}[{key}]", f'Invalid value: "{amount}": must be an integer'
    for key, amount in requests.items():
        shown = f'Invalid value: "{amount}": must be'
        if key not in limits:
            if "/" in key:
                yield f"{path}.limits", "Required value: Limit must be set for non overcommitable resources"
        elif "/" in key and quantities.parse(amount) != quantities.parse(limits[key]):
            yield f"{path}.requests", f"{shown} equal to {key} limit of {limits[key]}"
        elif quantities.parse(amount) > quantities.parse(limits[key]):
            yield f"{path}.requests", f"{shown} less than or equal to {key} limit of {limits[key]}"
