"""Where a Pod may run: what its InstanceType says of the nodes, and what the role adds."""

from app.api.kubernetes import Toleration
from app.api.reasons import Reason
from app.kube.hook import JSON
from app.modeldeployment.render.subject import Subject


def placement(subject: Subject) -> JSON:
    """Node selector, tolerations and runtime class; a value is empty where nothing is stated."""
    shape, role = subject.instance_type, subject.role
    if shape is None:
        return {"nodeSelector": dict(role.node_selector), "tolerations": _tolerations(role.tolerations)}
    return {
        "nodeSelector": {**shape.node_selector, **role.node_selector},
        "tolerations": _tolerations([*shape.tolerations, *role.tolerations]),
        "runtimeClassName": shape.runtime_class_name,
    }


def check_placement(subject: Subject) -> None:
    """Refuses a role that asks for nodes other than those of its InstanceType."""
    selector = subject.instance_type.node_selector if subject.instance_type else {}
    for key, value in subject.role.node_selector.items():
        if selector.get(key, value) != value:
            problem = (
                f"{key} is {value!r}, but InstanceType {subject.role.instance_type} says {selector[key]!r}: "
                "remove it, or use another type"
            )
            raise subject.refusal(Reason.ARGUMENT_CONFLICT, "nodeSelector", problem)


def _tolerations(tolerations: list[Toleration]) -> list[JSON]:
    found: list[JSON] = []
    for toleration in tolerations:
        stated = toleration.model_dump(by_alias=True, exclude_none=True)
        item = {key: value for key, value in stated.items() if value != ""}
        if item not in found:
            found.append(item)
    return found
