"""Which deployments and webhook configurations are Remuda's, and which are the reference's."""

from __future__ import annotations

from enum import Enum
from typing import Final

from remuda_kubernetes.admission.webhooks import NAME as OUR_HOOKS
from remuda_kubernetes.doctor.objects import Deployment, WebhookConfiguration
from remuda_kubernetes.doctor.sight import Sight

_REFERENCE: Final = "yunikorn"
_ADMISSION: Final = "admission"


class Part(Enum):
    """What a deployment runs."""

    SCHEDULER = "remuda kubernetes"
    ADMISSION = "remuda kubernetes admission"
    REFERENCE = "YuniKorn's scheduler"
    REFERENCE_ADMISSION = "YuniKorn's admission controller"


def part_of(deployment: Deployment) -> Part | None:
    """Return what a deployment runs, None if it is something else."""
    for each in deployment.spec.template.spec.containers or ():
        words = [*(each.command or ()), *(each.args or ())]
        if "kubernetes" in words and _is_remuda(each.name, each.image, words):
            return Part.ADMISSION if "admission" in words else Part.SCHEDULER
        image = each.image.rpartition("/")[2]
        # The reference has one image for each part; the tag says which in its own builds.
        if _REFERENCE in each.image and ("scheduler" in image or _ADMISSION in image):
            return Part.REFERENCE_ADMISSION if _ADMISSION in image else Part.REFERENCE
    return None


def _is_remuda(name: str, image: str, words: list[str]) -> bool:
    return any("remuda" in each for each in (name, image, *words[:1]))


def of_part(sight: Sight, part: Part) -> list[Deployment]:
    """Return the deployments of a part that are to run, those of our own namespace only for ours.

    The reference's count wherever they are, because they bind pods of the whole cluster.
    """
    own = part in {Part.SCHEDULER, Part.ADMISSION}
    return [
        each
        for each in sight.deployments
        if part_of(each) is part and (not own or each.namespace == sight.namespace)
    ]


def installed(configuration: WebhookConfiguration, sight: Sight) -> bool:
    """Whether a webhook configuration is Remuda's or the reference's."""
    return is_ours(configuration, sight) or is_reference(configuration)


def is_ours(configuration: WebhookConfiguration, sight: Sight) -> bool:
    """Whether a webhook configuration asks Remuda's admission controller."""
    service = sight.settings.admission.service
    return configuration.name == OUR_HOOKS or any(
        hook.client_config.service is not None
        and hook.client_config.service.namespace == sight.namespace
        and hook.client_config.service.name == service
        and ".admission.remuda" in hook.name
        for hook in configuration.webhooks or ()
    )


def is_reference(configuration: WebhookConfiguration) -> bool:
    """Whether a webhook configuration is one of the reference's."""
    return configuration.name != OUR_HOOKS and (
        _REFERENCE in configuration.name
        or any(_REFERENCE in hook.name for hook in configuration.webhooks or ())
    )
