"""The explanation as a whole: what a deployment has got, what it waits for, and what is worth knowing besides."""

from collections.abc import Callable, Iterator

from app.api.reasons import Reason
from app.explain.answer import Explanation, Finding, Part, action_of, numbered, sentence
from app.explain.looking import Look, kueue
from app.explain.quota import quota
from app.explain.replicas import pods, rollout
from app.explain.standing import deleting, stalled, switched_off, unanswered
from app.explain.subject import DEPLOYMENT, Subject, replicas
from app.kube.pods import maps, text
from app.kube.queues import cluster_queue
from app.kube.reader import Reader

Question = Callable[[Subject], Iterator[Finding]]

QUESTIONS: tuple[Question, ...] = (unanswered, deleting, switched_off, stalled, quota, rollout, pods)
_MOST_NOTES = 8


def explain(reader: Reader, namespace: str, name: str) -> Explanation:
    """Why the deployment is as it is. Raises `ReadError` where it cannot be read itself, or the reader fails."""
    subject = Subject(reader.get(DEPLOYMENT[0], name, namespace), Look(reader))
    waits = [finding for question in QUESTIONS for finding in question(subject)]
    waits = waits or list(_under_way(subject))
    return Explanation(
        namespace=namespace,
        name=name,
        phase=text(subject.status.get("phase")),
        summary=_summary(subject, bool(waits)),
        got=tuple(_got(subject)),
        waits=tuple(waits),
        notes=(*_remembered(subject), *_before_an_edit(subject)),
        unread=tuple(subject.look.unread),
    )


def _summary(subject: Subject, waits: bool) -> str:
    phase, ready = text(subject.status.get("phase")), text(subject.status.get("ready"))
    if not phase:
        return f"{subject.title} has no status yet."
    have, _, want = ready.partition("/")
    count = f": {have} of {want} replicas ready" if want else ""
    return f"{subject.title} is {phase}{count}{'' if waits else '; it waits for nothing'}."


def _got(subject: Subject) -> Iterator[str]:
    for role in maps(subject.status.get("roles")):
        parts = [f"role {text(role.get('name'))}: {role.get('ready', 0)} of {role.get('desired', 0)} replicas ready"]
        if "quotaReserved" in role:
            parts.append(f"quota for {role['quotaReserved']}")
        flavors = role.get("assignedFlavors")
        if isinstance(flavors, list) and flavors:
            parts.append(f"on flavor {' and '.join(map(str, flavors))}")
        yield ", ".join(parts)
    endpoint = text(subject.status.get("endpoint"))
    if endpoint:
        yield f"endpoint {endpoint}"


def _under_way(subject: Subject) -> Iterator[Finding]:
    """Reconciling, where nothing else tells why a replica does not serve."""
    status, reason, message = subject.condition("Reconciling")
    if status == "True":
        part = Part()
        part.say(sentence(message), sentence(text(subject.status.get("phaseMessage"))))
        yield part.finding("Reconciling", reason, action_of(Reason, reason))


def _remembered(subject: Subject) -> Iterator[str]:
    """What happened to replicas, the newest first."""
    found = list(reversed(maps(subject.status.get("interruptions"))))
    for entry in found[:_MOST_NOTES]:
        words = text(entry.get("message"))
        yield (
            f"Role {text(entry.get('role'))}, {numbered(text(entry.get('seats')))}: {text(entry.get('reason'))} at "
            f"{text(entry.get('at'))}{f': {words}' if words else ''}"
        )
    if len(found) > _MOST_NOTES:
        yield f"And {len(found) - _MOST_NOTES} more interruptions (status.interruptions)"


def _before_an_edit(subject: Subject) -> Iterator[str]:
    """Roles of one replica in a queue where others wait: an edit that turns them over may leave them at zero."""
    for role in subject.roles:
        name = text(role.get("name"))
        own = subject.role_status(name)
        if replicas(role) != 1 or own.get("quotaReserved") != 1:
            continue
        queues = {one.view.cluster_queue for (of, _), one in subject.claims.items() if of == name}
        for queue in sorted(queues - {""}):
            found = subject.look.one(kueue("ClusterQueue"), queue)
            waiting = cluster_queue(found).pending if isinstance(found, dict) else None
            if waiting:
                yield (
                    f"Role {name} has one replica: an edit that turns it over gives its quota to whoever queues, and "
                    f"{waiting} wait{'s' if waiting == 1 else ''} in cluster queue {queue}"
                )
