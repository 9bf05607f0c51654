"""What one role's render looks at: the role, what it names, and the user's own flags read once."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.api.instancetype import InstanceTypeSpec
from app.api.kubernetes import Protocol
from app.api.modeldeployment import ModelDeploymentSpec
from app.api.reasons import Reason
from app.api.role import Role
from app.kube.text import clip
from app.modeldeployment.engines import ENGINES, Engine, Flags, Key
from app.modeldeployment.render.typed import Typed, typed_settings
from app.settings import ControllerSettings

DEFAULT_PORT = 8000
_MOST_SHOWN = 64


class RenderRefused(Exception):
    """A role that cannot be rendered as it is declared.

    `message` is one sentence that names the field and the way out: `roles[decode].extraArgs: …`.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Identity:
    """The deployment's own name and namespace."""

    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One role to be rendered.

    `flags` are the user's own: of `command` where the role takes over, else of `extraArgs`. `typed` are the settings
    that are stated as fields. `paired`: the deployment declares both a Prefill and a Decode role.
    """

    identity: Identity
    spec: ModelDeploymentSpec
    role: Role
    instance_type: InstanceTypeSpec | None
    settings: ControllerSettings
    engine: Engine
    flags: Flags
    typed: Mapping[Key, Typed]
    paired: bool

    @property
    def unmanaged(self) -> bool:
        """Whether the role replaced its command line."""
        return self.role.command is not None

    @property
    def port(self) -> int:
        """The port of the Services: the first one declared, else 8000."""
        return self.role.ports[0].port if self.role.ports else DEFAULT_PORT

    @property
    def protocol(self) -> Protocol:
        """The protocol of that port."""
        return self.role.ports[0].protocol if self.role.ports else "TCP"

    @property
    def listening(self) -> int:
        """The port the engine opens: an own `--port` counts where no port is declared, else both are the same."""
        stated = port_number(self.flags.value(Key.PORT))
        return stated if stated is not None and not self.role.ports else self.port

    @property
    def secured(self) -> bool:
        """Whether the engine serves HTTPS: either of the two flags alone turns it on in both engines."""
        return Key.CERTIFICATE in self.flags or Key.PRIVATE_KEY in self.flags

    @property
    def bootstrap_port(self) -> int | None:
        """The port under which this Prefill's Decode half finds it; None on every other role."""
        half = self.role.kind == "Prefill" and self.paired and not self.unmanaged
        return self.engine.bootstrap_port if half else None

    def refusal(self, reason: Reason, field: str, problem: str) -> RenderRefused:
        """The refusal of a field of this role; `problem` says what is wrong and what to do."""
        return RenderRefused(reason, clip(f"roles[{self.role.name}].{field}: {problem}"))


def read_subject(
    identity: Identity,
    spec: ModelDeploymentSpec,
    role: Role,
    instance_type: InstanceTypeSpec | None,
    settings: ControllerSettings,
) -> Subject:
    """Reads the user's flags and says what `role` is part of."""
    engine = ENGINES[spec.engine.name]
    kinds = {other.kind for other in spec.roles}
    return Subject(
        identity=identity,
        spec=spec,
        role=role,
        instance_type=instance_type,
        settings=settings,
        engine=engine,
        flags=engine.grammar.read(role.extra_args if role.command is None else role.command),
        typed=typed_settings(spec, role),
        paired={"Prefill", "Decode"} <= kinds,
    )


def shown(text: str) -> str:
    """What a user wrote, as far as a sentence has room for it."""
    return clip(text, _MOST_SHOWN)


def port_number(text: str | None) -> int | None:
    """The port that a flag's value states, or None where it states none."""
    if text is None or not (text.isascii() and text.isdecimal()) or len(text) > 5:
        return None
    number = int(text)
    return number if 1 <= number <= 65535 else None
