"""What the environment decides, read once into frozen objects (`HANGAR_…` variables)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType

PREFIX = "HANGAR_"
MIB = 1024 * 1024
KUEUE_VERSIONS = ("v1beta2", "v1beta1")

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


def _integer(name: str, value: str, minimum: int = 0, maximum: int | None = None) -> int:
    try:
        number = int(value)
    except ValueError:
        number = minimum - 1
    if number < minimum or (maximum is not None and number > maximum):
        bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise SettingsError(f"{name} is {value!r}: write a whole number {bounds}")
    return number


def _names(value: str | None) -> tuple[str, ...]:
    """A list of names, separated by commas."""
    return tuple(part.strip() for part in (value or "").split(",") if part.strip())


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise SettingsError(f"{name} is {value!r}: write one of {', '.join(allowed)}")
    return value


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """What a sync may depend on beside its request and the time.

    `cluster_id` is printed as `status.clusterID` (absent when empty). `allow_privileged` and
    `allow_host_path` let roles ask for them: Pods made by a controller hide the person who asked from
    user-based policies. `images` maps an engine's name to an image template with `{version}`.

    `kueue` says that Kueue is installed and may be asked for quota, `kueue_version` which version of its API is read.
    `reserved_namespaces` are those that Kueue does not manage: it mirrors Kueue's `managedJobsNamespaceSelector`.
    """

    cluster_id: str = ""
    allow_privileged: bool = False
    allow_host_path: bool = False
    images: Mapping[str, str] = field(default_factory=lambda: DEFAULT_IMAGES)
    kueue: bool = False
    kueue_version: str = "v1beta2"
    reserved_namespaces: tuple[str, ...] = ("kube-system", "kueue-system", "hangar-system")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ControllerSettings":
        """Reads one variable per field, for example `HANGAR_CLUSTER_ID`, and `HANGAR_IMAGE_<ENGINE>`."""
        images = {
            engine: environment.get(f"{PREFIX}IMAGE_{engine.upper()}", template)
            for engine, template in DEFAULT_IMAGES.items()
        }
        return cls(
            cluster_id=environment.get(f"{PREFIX}CLUSTER_ID", ""),
            allow_privileged=_flag(f"{PREFIX}ALLOW_PRIVILEGED", environment.get(f"{PREFIX}ALLOW_PRIVILEGED", "")),
            allow_host_path=_flag(f"{PREFIX}ALLOW_HOST_PATH", environment.get(f"{PREFIX}ALLOW_HOST_PATH", "")),
            images=MappingProxyType(images),
            kueue=_flag(f"{PREFIX}KUEUE", environment.get(f"{PREFIX}KUEUE", "")),
            kueue_version=_one_of(
                f"{PREFIX}KUEUE_VERSION", environment.get(f"{PREFIX}KUEUE_VERSION") or "v1beta2", KUEUE_VERSIONS
            ),
            reserved_namespaces=_names(environment.get(f"{PREFIX}RESERVED_NAMESPACES")) or cls().reserved_namespaces,
        )


LOG_LEVELS = ("debug", "info", "warning", "error")
_AUTH = ("token", "none")
_HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the hook service listens. Sizes are bytes, times seconds; port 0 takes a free one.

    Every request must carry one of the bearer tokens in `token_file`, one per line. Without a file any caller is
    answered: `from_environment` never says so unless HANGAR_AUTH does, and code that does listens on loopback.
    Without a certificate and its key the hooks are plain HTTP.
    """

    host: str = "0.0.0.0"  # noqa: S104 - a Service forwards to it; the chart's NetworkPolicy decides who may
    port: int = 8080
    operations_port: int = 8081
    workers: int = 1
    token_file: str = ""
    tls_cert_file: str = ""
    tls_key_file: str = ""
    max_body_bytes: int = 64 * MIB
    max_calls: int = 64
    read_seconds: int = 20
    drain_seconds: int = 5
    shutdown_seconds: int = 20
    log_level: str = "info"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "ServerSettings":
        """Reads `HANGAR_AUTH` and one variable per field, for example `HANGAR_MAX_BODY_BYTES`."""

        def text(name: str) -> str:
            return environment.get(f"{PREFIX}{name.upper()}", "") or str(getattr(defaults, name))

        def number(name: str, minimum: int, maximum: int | None = None) -> int:
            return _integer(f"{PREFIX}{name.upper()}", text(name), minimum, maximum)

        def port(name: str) -> int:
            # The kubelet sets HANGAR_PORT=tcp://10.0.0.1:80 in every Pod beside a Service called `hangar`.
            if text(name).startswith("tcp://"):
                return int(getattr(defaults, name))
            return number(name, 0, _HIGHEST_PORT)

        defaults = cls()
        certificate, key = _certificate(environment)
        shutdown_seconds = number("shutdown_seconds", 1)
        return cls(
            host=text("host"),
            port=port("port"),
            operations_port=port("operations_port"),
            workers=number("workers", 1),
            token_file=_token_file(environment),
            tls_cert_file=certificate,
            tls_key_file=key,
            max_body_bytes=number("max_body_bytes", 1),
            max_calls=number("max_calls", 1),
            # What has begun to arrive must be able to end, one way or the other, within the shutdown.
            read_seconds=min(number("read_seconds", 1), shutdown_seconds),
            drain_seconds=number("drain_seconds", 0),
            shutdown_seconds=shutdown_seconds,
            log_level=_one_of(f"{PREFIX}LOG_LEVEL", text("log_level"), LOG_LEVELS),
        )


def _token_file(environment: Mapping[str, str]) -> str:
    """The file of bearer tokens, or the empty string where the environment says that none are wanted."""
    auth = _one_of(f"{PREFIX}AUTH", environment.get(f"{PREFIX}AUTH", "") or "token", _AUTH)
    path = environment.get(f"{PREFIX}TOKEN_FILE", "")
    if auth == "none":
        return ""
    if not path:
        raise SettingsError(
            f"{PREFIX}TOKEN_FILE is not set: name a file with one bearer token per line, "
            f"or set {PREFIX}AUTH=none to answer any caller"
        )
    return path


def _certificate(environment: Mapping[str, str]) -> tuple[str, str]:
    """The files of the certificate and its key: both, or two empty strings."""
    names = (f"{PREFIX}TLS_CERT_FILE", f"{PREFIX}TLS_KEY_FILE")
    certificate, key = (environment.get(name, "") for name in names)
    if bool(certificate) != bool(key):
        given, missing = names if certificate else reversed(names)
        raise SettingsError(f"{missing} is not set and {given} is: set both, or neither for plain HTTP")
    return certificate, key


def known_variables() -> frozenset[str]:
    """Every variable that Hangar reads, so that documentation and tests can hold it to the list."""
    named = [f.name for f in (*fields(ControllerSettings), *fields(ServerSettings)) if f.name != "images"]
    return frozenset(
        {f"{PREFIX}{name.upper()}" for name in (*named, "auth")}
        | {f"{PREFIX}IMAGE_{engine.upper()}" for engine in DEFAULT_IMAGES}
    )
