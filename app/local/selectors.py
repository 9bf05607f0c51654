"""Kubernetes label selectors: `matchLabels` and `matchExpressions`."""

from app.kube.hook import JSON
from app.local.values import listed, mapping


class SelectorError(ValueError):
    """A selector that cannot be read."""


def matches(selector: JSON, labels: JSON) -> bool:
    """Whether `labels` fit; an empty selector fits everything. Raises SelectorError for an unknown operator."""
    if any(labels.get(key) != value for key, value in mapping(selector.get("matchLabels")).items()):
        return False
    return all(_fits(mapping(one), labels) for one in listed(selector.get("matchExpressions")))


def _fits(expression: JSON, labels: JSON) -> bool:
    key, operator, values = expression.get("key"), expression.get("operator"), listed(expression.get("values"))
    if operator == "In":
        return key in labels and labels[key] in values
    if operator == "NotIn":
        return key not in labels or labels[key] not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    raise SelectorError(f"can't convert label selector: {operator!r} is not a valid label selector operator")
