"""The decisions of the admission controller: which answer a request gets, as a pure function."""

from __future__ import annotations

from remuda_kubernetes.admission.config_maps import Judge, review_config_map
from remuda_kubernetes.admission.pods import review_pod
from remuda_kubernetes.admission.policy import Policy
from remuda_kubernetes.admission.reviews import Answer, RefusedError, Request
from remuda_kubernetes.admission.surroundings import Surroundings
from remuda_kubernetes.admission.templates import review_template


def review(request: Request, policy: Policy, around: Surroundings) -> Answer:
    """Return the answer to a request about a pod or an object with a template.

    An object of any other kind is allowed as it is. Another review of a patched object changes
    nothing and is allowed.
    """
    try:
        if (request.kind.group, request.kind.kind) == ("", "Pod"):
            return review_pod(request, policy, around)
        return review_template(request, policy, around)
    except RefusedError as error:
        return Answer(allowed=False, message=str(error), code=error.code)


def validate(request: Request, policy: Policy, around: Surroundings, judge: Judge) -> Answer:
    """Return the answer to a request about a ConfigMap; one of others is allowed as it is."""
    try:
        if (request.kind.group, request.kind.kind) == ("", "ConfigMap"):
            return review_config_map(request, policy, around, judge)
    except RefusedError as error:
        return Answer(allowed=False, message=str(error), code=error.code)
    return Answer()
