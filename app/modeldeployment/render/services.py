"""The Services of a deployment: one for all of it, one per role, and a headless one where members must find each other.

Selectors hold nothing that an edit changes.
"""

from collections.abc import Sequence

from app.kube import names
from app.kube.hook import JSON
from app.modeldeployment.render.pod import APP, MANAGER
from app.modeldeployment.render.role import RenderedRole
from app.modeldeployment.render.subject import Identity


def render_services(identity: Identity, roles: Sequence[RenderedRole]) -> dict[str, JSON]:
    """Every Service by its name; `roles` in the order of the spec, of which the first answers for the deployment."""
    services = [_leaders(identity, identity.name, role) for role in roles[:1]]
    for role in roles:
        services.append(_leaders(identity, names.role_service(identity.name, role.name), role))
        if role.size > 1:
            services.append(_members(identity, role))
    return {service["metadata"]["name"]: service for service in services}


def _leaders(identity: Identity, name: str, role: RenderedRole) -> JSON:
    """Only member 0 of a replica serves the API."""
    spec = {"type": "ClusterIP", "selector": {**_selector(identity, role), names.MEMBER: "0"}, "ports": [_port(role)]}
    return _service(identity, name, role, spec)


def _members(identity: Identity, role: RenderedRole) -> JSON:
    """Gives every member a name in DNS before it is ready: they start by finding each other."""
    spec = {
        "type": "ClusterIP",
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": _selector(identity, role),
        "ports": [_port(role)],
    }
    return _service(identity, names.headless_service(identity.name, role.name), role, spec)


def _service(identity: Identity, name: str, role: RenderedRole, spec: JSON) -> JSON:
    labels = {
        names.APP_NAME: APP,
        names.APP_COMPONENT: role.name,
        names.APP_MANAGED_BY: MANAGER,
        names.DEPLOYMENT: identity.name,
        names.ROLE: role.name,
    }
    metadata = {"name": name, "namespace": identity.namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _selector(identity: Identity, role: RenderedRole) -> dict[str, str]:
    return {names.DEPLOYMENT: identity.name, names.ROLE: role.name}


def _port(role: RenderedRole) -> JSON:
    return {"name": role.port_name, "port": role.port, "protocol": role.protocol, "targetPort": role.target_port}
