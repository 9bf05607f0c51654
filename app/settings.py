"""What the environment decides, read once into frozen objects (`HANGAR_…` variables)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

PREFIX = "HANGAR_"
MIB = 1024 * 1024

# Upstream's own images, used where neither the role nor its InstanceType names one. They need NVIDIA cards.
DEFAULT_IMAGES: Mapping[str, str] = MappingProxyType(
    {"vLLM": "vllm/vllm-openai:v{version}", "SGLang": "lmsysorg/sglang:v{version}"}
)


class SettingsError(ValueError):
    """A variable that cannot be read; the message names it, what was found and what is expected."""


def _flag(name: str, value: str) -> bool:
    lowered = value.strip().lower()
    if lowered in {"true", "1", "yes"}:
        return True
    if lowered in {"false", "0", "no", ""}:
        return False
    raise SettingsError(f"{name} is {value!r}: write true or false")


def _integer(name: str, value: str, minimum: int = 0) -> int:
    try:
        number = int(value)
    except ValueError:
        number = minimum - 1
    if number < minimum:
        raise SettingsError(f"{name} is {value!r}: write a whole number of at least {minimum}")
    return number


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What a sync may depend on beside its request and the time.

    `cluster_id` is printed as `status.clusterID` (absent when empty). `allow_privileged` and
    `allow_host_path` let roles ask for them: Pods made by a controller hide the person who asked from
    user-based policies. `images` maps an engine's name to an image template with `{version}`.
    """

    cluster_id: str = ""
    allow_privileged: bool = False
    allow_host_path: bool = False
    images: Mapping[str, str] = field(default_factory=lambda: DEFAULT_IMAGES)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ControllerSettings":
        """Reads `HANGAR_CLUSTER_ID`, `HANGAR_ALLOW_PRIVILEGED`, `HANGAR_ALLOW_HOST_PATH`, `HANGAR_IMAGE_<ENGINE>`."""
        images = {
            engine: environment.get(f"{PREFIX}IMAGE_{engine.upper()}", template)
            for engine, template in DEFAULT_IMAGES.items()
        }
        return cls(
            cluster_id=environment.get(f"{PREFIX}CLUSTER_ID", ""),
            allow_privileged=_flag(f"{PREFIX}ALLOW_PRIVILEGED", environment.get(f"{PREFIX}ALLOW_PRIVILEGED", "")),
            allow_host_path=_flag(f"{PREFIX}ALLOW_HOST_PATH", environment.get(f"{PREFIX}ALLOW_HOST_PATH", "")),
            images=MappingProxyType(images),
        )


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the hook service listens. Sizes are bytes, times seconds; an empty `tokens` means no authentication."""

    host: str = "0.0.0.0"  # noqa: S104 - a Service forwards to it; the chart's NetworkPolicy decides who may
    port: int = 8080
    operations_port: int = 8081
    tokens: tuple[str, ...] = ()
    max_body_bytes: int = 64 * MIB
    shutdown_seconds: int = 20
    log_level: str = "info"


def known_variables() -> frozenset[str]:
    """Every variable that Hangar reads, so that documentation and tests can hold it to the list."""
    plain = {f"{PREFIX}{f.name.upper()}" for f in fields(ControllerSettings) if f.name != "images"}
    return frozenset(plain | {f"{PREFIX}IMAGE_{engine.upper()}" for engine in DEFAULT_IMAGES})
