"""Kubernetes' own kinds, with the defaults and rules of theirs that a controller runs into.

Only the kinds that something here acts on, or that are plain data. Defaults are those of Kubernetes 1.35.
"""

import base64

from app.kube.hook import JSON
from app.local.pods import admit_pod
from app.local.resources import Resource
from app.local.schema import Problem
from app.local.typed import omit_empty
from app.local.values import listed, mapping


def admit_service(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Service with its defaults. Addresses that were assigned once stay."""
    service = omit_empty(obj)
    spec = mapping(service.get("spec"))
    headless = spec.get("clusterIP") == "None"
    if not listed(spec.get("ports")) and not headless:
        return service, [("spec.ports", "Required value")]
    before = mapping(mapping(stored).get("spec"))
    assigned = {key: before[key] for key in ("clusterIP", "clusterIPs") if key in before}
    defaults: JSON = {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
    }
    service["spec"] = defaults | assigned | spec
    if "ports" in spec:
        service["spec"]["ports"] = [_service_port(port) for port in spec["ports"]]
    if headless:
        service["spec"]["clusterIPs"] = ["None"]
    elif assigned and spec.get("clusterIP", assigned["clusterIP"]) != assigned["clusterIP"]:
        return service, [("spec.clusterIP", "Invalid value: field is immutable")]
    service["status"] = mapping(service.get("status")) or {"loadBalancer": {}}
    return service, []


def _service_port(port: JSON) -> JSON:
    filled: JSON = {"protocol": "TCP", "targetPort": port.get("port")}
    return filled | port


def admit_secret(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Secret: `stringData` becomes `data`, the type defaults to Opaque."""
    secret = {"type": "Opaque", **omit_empty(obj)}
    plain = mapping(secret.pop("stringData", None))
    encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
    if encoded:
        secret["data"] = mapping(secret.get("data")) | encoded
    return secret, []


def _plain(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    return omit_empty(obj), []


BUILTIN = (
    Resource("v1", "namespaces", "Namespace", namespaced=False, admit=_plain),
    Resource("v1", "nodes", "Node", namespaced=False, status=True, admit=_plain),
    Resource("v1", "pods", "Pod", generation=True, status=True, admit=admit_pod),
    Resource("v1", "services", "Service", status=True, admit=admit_service),
    Resource("v1", "configmaps", "ConfigMap", admit=_plain),
    Resource("v1", "secrets", "Secret", admit=admit_secret),
    Resource("v1", "serviceaccounts", "ServiceAccount", admit=_plain),
    Resource("v1", "events", "Event", admit=_plain),
    Resource(
        "metacontroller.k8s.io/v1alpha1",
        "compositecontrollers",
        "CompositeController",
        namespaced=False,
        generation=True,
        status=True,
    ),
)
