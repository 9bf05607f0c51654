"""Volumes of an engine's Pod: the role's own, then memory for the engine's processes at /dev/shm."""

from pydantic import BaseModel

from app.api.reasons import Reason
from app.api.role import Volume
from app.kube.hook import JSON
from app.modeldeployment.render.subject import RenderRefused, Subject

SHM_PATH = "/dev/shm"  # noqa: S108 - the path in the container, which engines use between their own processes
DEFAULT_SHM_SIZE = "16Gi"

_SOURCES = {
    "configMap": "config_map",
    "secret": "secret",
    "persistentVolumeClaim": "persistent_volume_claim",
    "hostPath": "host_path",
}


def volumes(subject: Subject) -> tuple[list[JSON], list[JSON]]:
    """The Pod's volumes and the container's mounts."""
    found: list[JSON] = []
    mounts: list[JSON] = []
    for index, volume in enumerate(subject.role.additional_volumes):
        name = f"volume-{index}"
        found.append({"name": name, **_source(volume)})
        mounts.append({"name": name, **_mount(volume)})
    size = subject.role.shm_size
    found.append(
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(DEFAULT_SHM_SIZE if size is None else size)}}
    )
    mounts.append({"name": "shm", "mountPath": SHM_PATH})
    return found, mounts


def check_volumes(subject: Subject) -> None:
    """Refuses what the API server or the node would refuse later, and host paths where they are not allowed."""
    paths: set[str] = set()
    for volume in subject.role.additional_volumes:
        _check_path(subject, volume.mount_path)
        _check_path(subject, volume.sub_path or "")
        if volume.mount_path in paths:
            problem = f"{volume.mount_path} is mounted twice: give each volume a mountPath of its own"
            raise _refusal(subject, Reason.ARGUMENT_CONFLICT, problem)
        if volume.mount_path == SHM_PATH:
            problem = f"{SHM_PATH} is Hangar's own mount: state its size as shmSize and remove the volume"
            raise _refusal(subject, Reason.ARGUMENT_CONFLICT, problem)
        paths.add(volume.mount_path)
        _check_source(subject, volume)


def _check_path(subject: Subject, path: str) -> None:
    if ".." in path.split("/"):
        raise _refusal(subject, Reason.SPEC_INVALID, f"{path} has a `..` segment: write the path without it")


def _check_source(subject: Subject, volume: Volume) -> None:
    stated = [name for name, attribute in _SOURCES.items() if getattr(volume, attribute) is not None]
    if len(stated) != 1:
        problem = f"{volume.mount_path} needs exactly one source: state one of {', '.join(_SOURCES)}"
        raise _refusal(subject, Reason.SPEC_INVALID, problem)
    if volume.host_path is None:
        return
    if not subject.settings.allow_host_path:
        problem = (
            f"{volume.mount_path} is a hostPath, which this installation does not allow: use another source, or ask "
            "the platform team for HANGAR_ALLOW_HOST_PATH=true"
        )
        raise _refusal(subject, Reason.NOT_ALLOWED, problem)
    _check_path(subject, volume.host_path.path)


def _refusal(subject: Subject, reason: Reason, problem: str) -> RenderRefused:
    return subject.refusal(reason, "additionalVolumes", problem)


def _source(volume: Volume) -> JSON:
    found: JSON = {}
    for name, attribute in _SOURCES.items():
        source: BaseModel | None = getattr(volume, attribute)
        if source is not None:
            # The API server drops what is false or empty here.
            found[name] = {key: value for key, value in source.model_dump(by_alias=True).items() if value}
    return found


def _mount(volume: Volume) -> JSON:
    found: JSON = {"mountPath": volume.mount_path}
    if volume.read_only:
        found["readOnly"] = True
    if volume.sub_path is not None:
        found["subPath"] = volume.sub_path
    return found
