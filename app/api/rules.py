"""CEL rules of the kinds, each with the sentence that its refusal shows; the sentence says what to do.

The API server prices rules before it accepts a CRD, by the bounds of the lists and strings that they read: what reads
an argument may only compare it with a fixed word, and no rule reads `metadata.name`.
"""

from collections.abc import Iterable
from typing import Any

from app.api.owned import DISTRIBUTED_ARGUMENTS, OWNED_ARGUMENTS, OWNED_ENVIRONMENT, RANK_ENVIRONMENT

JSON = dict[str, Any]


def rule(expression: str, message: str, path: str = "") -> JSON:
    """One rule. `path` names the field that the refusal points at, relative to where the rule stands: `.command`."""
    return {"rule": expression, "message": message} | ({"fieldPath": path} if path else {})


def frozen(name: str, advice: str) -> JSON:
    """A rule for an object with an optional frozen field `name` (as on the wire): neither changed, added nor removed.

    A rule on the field itself would not see it come or go.
    """
    return rule(
        f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || self.{name} == oldSelf.{name})",
        f"{name} is frozen, to be neither changed, added nor removed: {advice}",
        path=f".{name}",
    )


def unchanged(name: str, advice: str) -> JSON:
    """A rule for a frozen field that is always there: required, or with a default."""
    return rule("self == oldSelf", f"{name} is frozen: {advice}")


def no_backsteps(name: str) -> JSON:
    """A rule for a path without `..` segments, as Kubernetes wants it of a Pod; `a..b` is a name like any other."""
    return rule(r"!self.matches('(^|/)[.][.](/|$)')", f"{name} may have no `..` segment: write the path without it")


def rank_environment() -> JSON:
    """A rule for a role's environment: it sets none of the variables that tell a member its place."""
    return rule(
        f"self.all(e, !(e.name in {_literal(RANK_ENVIRONMENT)}))",
        f"env may not set {_words(RANK_ENVIRONMENT)}: Hangar tells each member its place, so remove it",
    )


def owned_arguments() -> tuple[JSON, ...]:
    """Rules for a spec, two per engine: no role's extraArgs state an owned flag, as `--flag` or `--flag=value`.

    Other spellings that an engine takes (a unique prefix, underscores) are refused by the renderer.
    """
    return tuple(
        rule(
            f"self.engine.name != '{engine}' || self.roles.all(r, {excuse}!has(r.extraArgs) || !r.extraArgs.exists(a, "
            f"{_literal(flags)}.exists(flag, a == flag || a.startsWith(flag + '='))))",
            f"extraArgs of a {engine} role{where} may not state {_words(flags)}: Hangar renders it, so remove it",
            path=".roles",
        )
        for table, excuse, where in (
            (OWNED_ARGUMENTS, "", ""),
            (DISTRIBUTED_ARGUMENTS, "r.size == 1 || ", " of several Pods"),
        )
        for engine, flags in table.items()
    )


def owned_environment() -> tuple[JSON, ...]:
    """Rules for a spec, one per engine: no role sets an owned variable, with or without a command of its own."""
    return tuple(
        rule(
            f"self.engine.name != '{engine}' || self.roles.all(r, !has(r.env) || "
            f"!r.env.exists(e, e.name in {_literal(names)}))",
            f"env of a {engine} role may not set {_words(names)}: Hangar sets it, so remove it",
            path=".roles",
        )
        for engine, names in OWNED_ENVIRONMENT.items()
    )


def _literal(names: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in sorted(names)) + "]"


def _words(names: Iterable[str]) -> str:
    *others, last = sorted(names)
    return f"{', '.join(others)} or {last}"
