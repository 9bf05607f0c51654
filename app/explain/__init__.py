"""Why a deployment is as it is: its status, and what else of the cluster explains it, in sentences with what to type.

Nothing is decided here that the controller decides: the status says what is so, and this goes and looks at the objects
behind it, as far as the caller may read them.
"""

from app.explain.answer import Command, Explanation, Finding, Holder
from app.explain.explain import explain

__all__ = ["Command", "Explanation", "Finding", "Holder", "explain"]
