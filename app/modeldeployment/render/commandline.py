"""The engine's command line, in order: base, typed settings, place in the replica, half, the user's own, address.

All of it is the container's `command`. A role with a `command` of its own contributes that and nothing else.
"""

from dataclasses import dataclass

from app.modeldeployment.engines import Engine, Key
from app.modeldeployment.render.subject import Subject


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line around the place of one member: what comes before its flags and what comes after.

    `engine` is None where no place is rendered: one Pod per replica, or a command of the user's own.
    """

    head: list[str]
    tail: list[str]
    size: int
    engine: Engine | None

    def of(self, member: int, leader: str) -> list[str]:
        """The whole command line of one member; `leader` is the address of member 0."""
        place = self.engine.distributed(self.size, member, leader) if self.engine else []
        return [*self.head, *place, *self.tail]


def command_line(subject: Subject) -> CommandLine:
    """What `subject` runs."""
    role, engine = subject.role, subject.engine
    if role.command is not None:
        return CommandLine(list(role.command), [], role.size, None)
    head = engine.base(subject.spec.model.name)
    for key, typed in subject.typed.items():
        head += engine.setting(key, typed.value)
    tail = engine.split(role.kind) if subject.paired else []
    tail = [*tail, *role.extra_args, *_address(subject)]
    return CommandLine(head, tail, role.size, engine if role.size > 1 else None)


def _address(subject: Subject) -> list[str]:
    """Where the engine listens, each half only where the user's own flags lack it: the defaults differ by engine."""
    host = [] if Key.HOST in subject.flags else ["--host", "0.0.0.0"]  # noqa: S104 - the Pod's own network
    port = [] if Key.PORT in subject.flags else ["--port", str(subject.port)]
    return host + port
