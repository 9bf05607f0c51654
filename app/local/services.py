"""Services as the API server admits them."""

import json
from collections.abc import Iterator
from typing import Any

from app.kube.hook import JSON
from app.local.containerchecks import PORT_WORDS
from app.local.metadata import label_problems
from app.local.schema import Problem
from app.local.typed import sent_back
from app.local.values import listed, mapping

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_DEFAULTS: JSON = {
    "type": "ClusterIP",
    "sessionAffinity": "None",
    "internalTrafficPolicy": "Cluster",
    "ipFamilies": ["IPv4"],
    "ipFamilyPolicy": "SingleStack",
}


def admit_service(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Service with its defaults. Addresses that were assigned once stay."""
    service = sent_back(obj)
    spec = mapping(service.get("spec"))
    headless = spec.get("clusterIP") == "None"
    before = mapping(mapping(stored).get("spec"))
    assigned = {key: before[key] for key in ("clusterIP", "clusterIPs") if key in before}
    filled = _DEFAULTS | assigned | spec
    if "ports" in spec:
        filled["ports"] = [_port(mapping(port)) for port in listed(spec["ports"])]
    if headless:
        filled["clusterIPs"] = ["None"]
    service["spec"] = filled
    service["status"] = mapping(service.get("status")) or {"loadBalancer": {}}
    found = list(_problems(filled, headless))
    if assigned and filled["clusterIP"] != assigned["clusterIP"]:
        shown = json.dumps([filled["clusterIP"]])
        found.append(("spec.clusterIPs[0]", f"Invalid value: {shown}: may not change once set"))
    return service, found


def _port(port: JSON) -> JSON:
    filled: JSON = {"protocol": "TCP", "targetPort": port.get("port")}
    return filled | port


def _problems(spec: JSON, headless: bool) -> Iterator[Problem]:
    ports: list[Any] = listed(spec.get("ports"))
    if not ports and not headless and spec["type"] != "ExternalName":
        yield "spec.ports", "Required value"
    if spec["type"] not in _TYPES:
        yield "spec.type", _unsupported(spec["type"], _TYPES)
    names: list[Any] = []
    numbers: list[Any] = []
    for index, port in enumerate(ports):
        path, title, number = f"spec.ports[{index}]", port.get("name"), (port.get("protocol"), port.get("port"))
        if len(ports) > 1 and not title:
            yield f"{path}.name", "Required value"
        if title and title in names:
            yield f"{path}.name", f"Duplicate value: {json.dumps(title)}"
        if not isinstance(number[1], int) or not 1 <= number[1] <= 65535:
            yield f"{path}.port", f"Invalid value: {number[1] or 0}: {PORT_WORDS}"
        if port["protocol"] not in _PROTOCOLS:
            yield f"{path}.protocol", _unsupported(port["protocol"], _PROTOCOLS)
        if number in numbers:
            yield path, f"Duplicate value: {json.dumps(port, separators=(',', ':'))}"
        names.append(title)
        numbers.append(number)
    yield from label_problems("spec.selector", mapping(spec.get("selector")))


def _unsupported(value: Any, supported: tuple[str, ...]) -> str:
    shown = ", ".join(f'"{one}"' for one in supported)
    return f"Unsupported value: {json.dumps(value)}: supported values: {shown}"
