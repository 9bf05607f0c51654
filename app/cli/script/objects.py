"""Actions on objects: apply, edit, scale, delete."""

import json

from app.cli.documents import Document, check
from app.cli.script.actions import Apply, Delete, Edit, Scale
from app.cli.script.paths import put, remove
from app.cli.script.stage import Moment, act, apply_document
from app.cli.script.targets import deployment_of, object_of, role_of
from app.kube.hook import JSON
from app.local.plane import Plane
from app.local.values import qualified


@act.register
def _(action: Apply, moment: Moment) -> str:
    for document in moment.documents:
        apply_document(moment.cluster, document)
    return ", ".join(f"{one.obj['kind']} {qualified(one.obj)}" for one in moment.documents)


@act.register
def _(action: Edit, moment: Moment) -> str:
    obj = object_of(moment.cluster.plane, action.object)
    for path, value in action.set.items():
        put(obj, path, value)
    for path in action.remove:
        remove(obj, path)
    told = [f"{path} is {json.dumps(value)}" for path, value in action.set.items()]
    return _update(moment.cluster.plane, obj, "; ".join([*told, *(f"without {path}" for path in action.remove)]))


@act.register
def _(action: Scale, moment: Moment) -> str:
    obj = deployment_of(moment.cluster.plane, action.deployment)
    role = role_of(obj, action.role)
    role["replicas"] = action.replicas
    return _update(moment.cluster.plane, obj, f"role {role['name']} to {action.replicas}")


def _update(plane: Plane, obj: JSON, told: str) -> str:
    check([Document("as edited", obj)])
    plane.store.update(obj)
    return f"{obj['kind']} {qualified(obj)}: {told}"


@act.register
def _(action: Delete, moment: Moment) -> str:
    plane = moment.cluster.plane
    obj = object_of(plane, action.object)
    plane.delete(plane.discovery.of(obj).key, qualified(obj), action.propagation)
    return f"{obj['kind']} {qualified(obj)}, {action.propagation}"
