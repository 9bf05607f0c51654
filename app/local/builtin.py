"""Kubernetes' own kinds: those that something here acts on, that controllers make, or that are plain data.

Defaults and refusals are those of Kubernetes 1.35, as far as a controller runs into them.
"""

import base64
import binascii

from app.kube.hook import JSON
from app.local.controllerkinds import CONTROLLERS
from app.local.errors import BadRequest
from app.local.metadata import data_problems, require_strings
from app.local.pods import admit_pod
from app.local.resources import Resource
from app.local.schema import Problem
from app.local.services import admit_service
from app.local.typed import sent_back
from app.local.values import mapping, name
from app.local.workloads import admit_deployment, admit_stateful_set


def admit_secret(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Secret: `stringData` becomes `data`, the type defaults to Opaque. Raises BadRequest."""
    secret = {"type": "Opaque", **sent_back(obj)}
    require_strings(secret, secret.get("data"), "Secret.data")
    require_strings(secret, secret.get("stringData"), "Secret.stringData")
    for value in mapping(secret.get("data")).values():
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            words = 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0'
            raise BadRequest(words) from None
    plain = mapping(secret.pop("stringData", None))
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
    if encoded:
        secret["data"] = mapping(secret.get("data")) | encoded
    return secret, list(data_problems(mapping(secret.get("data"))))


def admit_config_map(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A ConfigMap: text only, and none of it changes once it is immutable. Raises BadRequest."""
    config = sent_back(obj)
    require_strings(config, config.get("data"), "ConfigMap.data")
    fixed = stored is not None and stored.get("immutable") is True
    if fixed and mapping(config.get("data")) != mapping(mapping(stored).get("data")):
        return config, [("data", "Forbidden: field is immutable when `immutable` is set")]
    return config, list(data_problems(mapping(config.get("data"))))


def admit_namespace(obj: JSON, stored: JSON | None) -> tuple[JSON, list[Problem]]:
    """A Namespace, with the finalizer that its content holds."""
    space = sent_back(obj)
    metadata = mapping(space.get("metadata"))
    metadata["labels"] = mapping(metadata.get("labels")) | {"kubernetes.io/metadata.name": name(space)}
    if stored is None:
        space |= {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
    return space, []


def _plain(obj: JSON, _: JSON | None) -> tuple[JSON, list[Problem]]:
    return sent_back(obj), []


_SPEC = ("spec",)

BUILTIN = (
    Resource("v1", "namespaces", "Namespace", namespaced=False, status=True, name_rule="label", admit=admit_namespace),
    Resource("v1", "nodes", "Node", namespaced=False, status=True, admit=_plain),
    Resource("v1", "pods", "Pod", status=True, counted=_SPEC, admit=admit_pod),
    Resource("v1", "services", "Service", status=True, name_rule="service", admit=admit_service),
    Resource("v1", "configmaps", "ConfigMap", admit=admit_config_map),
    Resource("v1", "secrets", "Secret", admit=admit_secret),
    Resource("v1", "serviceaccounts", "ServiceAccount", admit=_plain),
    Resource("v1", "events", "Event", admit=_plain),
    # A Deployment counts changes of its annotations too.
    Resource(
        "apps/v1",
        "deployments",
        "Deployment",
        status=True,
        counted=("spec", "metadata.annotations"),
        admit=admit_deployment,
    ),
    Resource("apps/v1", "statefulsets", "StatefulSet", status=True, counted=_SPEC, admit=admit_stateful_set),
    *CONTROLLERS,
)
