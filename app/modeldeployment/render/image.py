"""Which image a role runs: its own, its InstanceType's, or upstream's where the cards are NVIDIA's."""

import re

from app.api.reasons import Reason
from app.modeldeployment.render.resources import asks_nvidia
from app.modeldeployment.render.subject import Subject

_VERSION = "{version}"
# `:v{version}`, but no name that happens to end in v.
_V_VERSION = re.compile(r"(?<![0-9A-Za-z])v\{version\}")


def image(subject: Subject) -> str:
    """The image, or a refusal that says what to state."""
    if subject.role.image is not None:
        return subject.role.image
    template = _of_type(subject)
    if template is None and asks_nvidia(subject):
        template = subject.settings.images.get(subject.engine.name) or None
    if template is None:
        raise subject.refusal(Reason.IMAGE_NOT_DERIVABLE, "image", _problem(subject))
    return _filled(subject, template)


def _of_type(subject: Subject) -> str | None:
    images = subject.instance_type.images if subject.instance_type else None
    if images is None:
        return None
    return {"vLLM": images.vllm, "SGLang": images.sglang}[subject.engine.name]


def _filled(subject: Subject, template: str) -> str:
    """The template with the engine's version; a `v` that both of them state is written once."""
    version = subject.spec.engine.version
    if version is None and _VERSION in template:
        raise subject.refusal(
            Reason.IMAGE_NOT_DERIVABLE, "image", "engine.version is missing: state it, or an image on this role"
        )
    if version and re.match("v[0-9]", version):
        template = _V_VERSION.sub(_VERSION, template)
    return template.replace(_VERSION, version or "")


def _problem(subject: Subject) -> str:
    engine, name = subject.engine.name, subject.role.instance_type
    if name is None:
        return f"no {engine} image can be derived without an InstanceType or nvidia.com/gpu in resources: state one"
    return (
        f"no {engine} image can be derived for InstanceType {name}: state one, or spec.images.{engine} "
        "on the InstanceType"
    )
