"""What a role may not ask for, in the order in which the refusals are said. Each raises `RenderRefused`.

Exact rules stand in the CRD too; here is what has to read a flag, another field or another object, and what would
harm a running engine if a stored object slipped past the CRD.
"""

import re
from collections.abc import Callable

from app.api.owned import DISTRIBUTED_ARGUMENTS, OWNED_ARGUMENTS, OWNED_ENVIRONMENT, RANK_ENVIRONMENT
from app.api.reasons import Reason
from app.modeldeployment.engines import Key
from app.modeldeployment.render.parallelism import check_parallelism
from app.modeldeployment.render.placement import check_placement
from app.modeldeployment.render.queue import check_queue
from app.modeldeployment.render.resources import check_cards
from app.modeldeployment.render.subject import RenderRefused, Subject, port_number, shown
from app.modeldeployment.render.volumes import check_volumes

_RELEASE = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?", re.ASCII)


def check(subject: Subject) -> None:
    """Refuses the first thing that is wrong with the role."""
    for rule in _TAKEN_OVER if subject.unmanaged else _MANAGED:
        rule(subject)


def _privileged(subject: Subject) -> None:
    if subject.role.privileged and not subject.settings.allow_privileged:
        problem = (
            "this installation does not allow it: remove it, or ask the platform team for HANGAR_ALLOW_PRIVILEGED=true"
        )
        raise subject.refusal(Reason.NOT_ALLOWED, "privileged", problem)


def _command_alone(subject: Subject) -> None:
    """Beside a command these would have no effect, silently."""
    for field, stated in (("extraArgs", subject.role.extra_args), ("parallelism", subject.role.parallelism)):
        if stated:
            problem = "command replaces the whole command line, so this has no effect: remove it"
            raise subject.refusal(Reason.ARGUMENT_CONFLICT, field, problem)


def _environment(subject: Subject) -> None:
    owned = OWNED_ENVIRONMENT[subject.engine.name] | RANK_ENVIRONMENT
    for variable in subject.role.env:
        if variable.name in owned:
            raise subject.refusal(Reason.ARGUMENT_OWNED, "env", f"{variable.name} is set by Hangar: remove it")


def _owned_arguments(subject: Subject) -> None:
    owned = OWNED_ARGUMENTS[subject.engine.name]
    if subject.role.size > 1:
        owned |= DISTRIBUTED_ARGUMENTS[subject.engine.name]
    for key, flag in subject.flags.found.items():
        if key in owned:
            raise _owned(subject, flag.spelling, key)
    for spelling, candidates in subject.flags.ambiguous:
        for candidate in candidates:
            if candidate in owned:
                raise _owned(subject, spelling, candidate)
        problem = f"{spelling} may be any of {', '.join(candidates)}: write the one you mean in full"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, "extraArgs", problem)


def _owned(subject: Subject, spelling: str, key: str) -> RenderRefused:
    name = spelling if spelling == key else f"{shown(spelling)} (that is {key})"
    problem = f"{name} is Hangar's own: remove it, or make a ModelDeployment whose role has a command of its own"
    return subject.refusal(Reason.ARGUMENT_OWNED, "extraArgs", problem)


def _stated_twice(subject: Subject) -> None:
    for key, typed in subject.typed.items():
        flag = subject.flags.found.get(key)
        if flag is not None:
            problem = f"{flag.spelling} says what {typed.field} says already: keep one of the two"
            raise subject.refusal(Reason.ARGUMENT_CONFLICT, "extraArgs", problem)


def _model(subject: Subject) -> None:
    flag = subject.flags.found.get(Key.MODEL)
    if flag is not None:
        problem = f"{flag.spelling} names the model a second time: remove it, spec.model.name is what is loaded"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, "extraArgs", problem)


def _served_name(subject: Subject) -> None:
    """vLLM takes several names, of which the first is the model's; the others are aliases."""
    name = subject.spec.model.name
    if Key.SERVED_NAME in subject.flags and subject.flags.value(Key.SERVED_NAME) != name:
        problem = f"--served-model-name is not {name}, which spec.model.name promises to serve: put that name first"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, "extraArgs", problem)


def _ports(subject: Subject) -> None:
    numbers = [port.port for port in subject.role.ports]
    for number in numbers:
        if numbers.count(number) > 1:
            problem = f"{number} is declared twice: state each port number once"
            raise subject.refusal(Reason.ARGUMENT_CONFLICT, "ports", problem)


def _own_port(subject: Subject) -> None:
    """An own `--port` and the declared port are one address. A `$(VARIABLE)` is taken on trust."""
    flag = subject.flags.found.get(Key.PORT)
    if flag is None or "$(" in (flag.value or ""):
        return
    field, stated = "command" if subject.unmanaged else "extraArgs", port_number(flag.value)
    if subject.role.ports and stated != subject.port:
        written = flag.spelling if flag.value is None else f"{flag.spelling} {flag.value}"
        problem = f"{shown(written)} is not {subject.port}, the first of ports: make the two equal"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, field, problem)


def _reserved_port(subject: Subject) -> None:
    reserved = subject.bootstrap_port
    taken = {port.port for port in subject.role.ports} | {subject.listening}
    if reserved is not None and reserved in taken:
        field = "ports" if subject.role.ports else "extraArgs"
        problem = f"{reserved} is the port on which the Decode role finds this Prefill: use another"
        raise subject.refusal(Reason.ARGUMENT_CONFLICT, field, problem)


def _several_pods(subject: Subject) -> None:
    since, version, size = subject.engine.several_pods_since, subject.spec.engine.version, subject.role.size
    match = _RELEASE.match(version or "")
    if since is None or size == 1 or match is None:
        return
    if tuple(int(part or 0) for part in match.groups()) < since:
        first = ".".join(map(str, since))
        problem = (
            f"{subject.engine.name} {version} cannot spread a replica over {size} Pods, the first release that can is "
            f"{first}: raise engine.version, or make a ModelDeployment whose role has a command of its own"
        )
        raise subject.refusal(Reason.ENGINE_UNSUPPORTED, "size", problem)


_ALWAYS_FIRST: tuple[Callable[[Subject], None], ...] = (
    _privileged,
    check_volumes,
    _environment,
    _ports,
    check_cards,
    check_placement,
    check_queue,
)
_TAKEN_OVER = (*_ALWAYS_FIRST, _command_alone, _own_port)
_MANAGED = (
    *_ALWAYS_FIRST,
    _owned_arguments,
    _stated_twice,
    _model,
    _served_name,
    _own_port,
    _reserved_port,
    _several_pods,
    check_parallelism,
)
