"""The ports of the engine's container and their names."""

from app.api.kubernetes import Port
from app.kube.hook import JSON
from app.modeldeployment.render.subject import Subject


def port_name(subject: Subject) -> str:
    """The name of the serving port: `http` where none is declared, for a declared port its protocol and number."""
    return _name(subject.role.ports[0]) if subject.role.ports else "http"


def container_ports(subject: Subject) -> list[JSON]:
    """The ports, the serving one first; a Prefill of a declared pair also opens the one its Decode half asks."""
    found = [_port(_name(port), port.port, port.protocol) for port in subject.role.ports]
    found = found or [_port(port_name(subject), subject.listening, subject.protocol)]
    if subject.bootstrap_port is not None:
        found.append(_port("bootstrap", subject.bootstrap_port, "TCP"))
    return found


def _port(name: str, number: int, protocol: str) -> JSON:
    return {"name": name, "containerPort": number, "protocol": protocol}


def _name(port: Port) -> str:
    return f"{port.protocol.lower()}-{port.port}"
