"""The amounts of a queue tree: do they parse, and can what is promised be kept?

One walk: a queue's own amounts, then each child with all below it, then the sums of what the
children were promised. "Fits" is the same as for limits at run time: a type that the limit does
not name is unlimited (RES-30).
"""

from __future__ import annotations

from remuda.base.fits import is_zero
from remuda.base.resources import Resource, component_wise_min, sat
from remuda.config.amounts import AmountReader, Amounts, excess, shown
from remuda.config.candidate import QueueCandidate
from remuda.config.drafts import AmountsDraft, QueueDraft, TemplateDraft
from remuda.config.findings import Findings
from remuda.config.schema import TemplateConfig


class QueueAmountsCheck:
    """Checks the amounts of one partition.

    Implements: CFG-76. Rules: chapter 10 section 6.3, TPL-2, TPL-3, TPL-7.
    """

    def __init__(self, amounts: AmountReader, findings: Findings) -> None:
        self._amounts = amounts
        self._findings = findings

    def check(self, root: QueueCandidate) -> None:
        """Check a whole tree and read its templates. Implements: QUE-17."""
        self._queue(root, {})

    def _queue(self, queue: QueueCandidate, limit_above: Resource) -> Resource:
        """Return the guaranteed amounts that the queue asks of its parent (CFG-73).

        Implements: CFG-75.
        """
        queue.maximum.note(self._findings, "CFG-70")
        queue.guaranteed.note(self._findings, "CFG-70")
        maximum, guaranteed = queue.maximum.values, queue.guaranteed.values
        limit = limit_above
        if maximum or guaranteed:
            self._check_own(queue, maximum or {}, guaranteed or {}, limit_above)
            limit = component_wise_min(limit_above, maximum) or {}
        if queue.draft.template is not None:
            queue.template = self._template(queue.draft.template, queue)
        if queue.limits and limit_above:
            self._compare_limits(queue, limit_above)
        promised: dict[str, int] = {}
        for child in queue.children:
            asked = self._queue(child, limit)
            if not promised:
                promised = dict(asked)
                continue
            for name, value in asked.items():
                promised[name] = sat(promised.get(name, 0) + value)
        if promised:
            self._check_sums(queue, promised, limit)
        return promised if guaranteed is None or is_zero(guaranteed) else guaranteed

    def _check_own(
        self, queue: QueueCandidate, maximum: Resource, guaranteed: Resource, limit_above: Resource
    ) -> None:
        """Check a queue's amounts against each other and the levels above.

        Implements: CFG-71, CFG-72.
        """
        draft = queue.draft
        over = excess(guaranteed, maximum)
        if over and draft.guaranteed:
            text = (
                f"guaranteed resource {shown(guaranteed, over)} of queue {queue.path}"
                f" is larger than maximum resource {shown(maximum, over)}"
            )
            self._note(draft.guaranteed, "CFG-71", text, "lower guaranteed or raise max")
        over = excess(maximum, limit_above)
        if over and draft.maximum:
            text = (
                f"maximum resource {shown(maximum, over)} of queue {queue.path} is larger than"
                f" maximum resource {shown(limit_above, over)} of the queues above"
            )
            self._note(draft.maximum, "CFG-72", text, "lower it or raise max above")
        if draft.maximum and maximum and is_zero(maximum) and not queue.maximum.faults:
            text = f"all amounts of max of queue {queue.path} are 0: no ask can be placed"
            hint = "remove what is not to be limited"
            self._findings.warn(draft.maximum.node, draft.maximum.path, "CFG-76", text, hint)

    def _check_sums(self, queue: QueueCandidate, promised: Resource, limit: Resource) -> None:
        """Check what the children are promised. Implements: CFG-73, CFG-74."""
        guaranteed = queue.guaranteed.values or {}
        draft = queue.draft
        end = "of the children"
        over = excess(promised, guaranteed)
        if over and draft.guaranteed:
            text = (
                f"guaranteed resource {shown(guaranteed, over)} of queue {queue.path} is"
                f" smaller than sum of guaranteed resources {shown(promised, over)} {end}"
            )
            self._note(draft.guaranteed, "CFG-73", text, "lower theirs or raise this one")
        over = excess(promised, limit)
        if over:
            text = (
                f"maximum resource {shown(limit, over)} of queue {queue.path} is"
                f" smaller than sum of guaranteed resources {shown(promised, over)} {end}"
            )
            self._note(draft.maximum or draft, "CFG-74", text, "lower theirs or raise max")

    def _template(self, draft: TemplateDraft, queue: QueueCandidate) -> TemplateConfig | None:
        """Return what a template gives to dynamic leaves, None for nothing.

        Its quantities must parse (TPL-7).

        Implements: TPL-1, TPL-2, TPL-7. Rules: TPL-3.
        """

        def owner() -> str:
            return f"the template of queue {queue.path}"

        maximum = self._amounts.read(draft.maximum, owner)
        guaranteed = self._amounts.read(draft.guaranteed, owner)
        maximum.note(self._findings, "TPL-7")
        guaranteed.note(self._findings, "TPL-7")
        if not queue.parent:
            text = f"queue {queue.path} is a leaf: its childtemplate has no effect"
            hint = "set parent: true, or remove it"
            self._findings.warn(draft.node, draft.path, "TPL-1", text, hint)
        properties = {name: text for name, text in draft.properties.items() if name and text}
        template = TemplateConfig(
            max_applications=draft.max_applications,
            properties=properties,
            maximum=_above_zero(maximum),
            guaranteed=_above_zero(guaranteed),
        )
        return None if template == TemplateConfig() else template

    def _compare_limits(self, queue: QueueCandidate, limit_above: Resource) -> None:
        """Tell of limits that the queues above do not allow to be used. Implements: LIM-72."""
        for draft, limit in zip(queue.limit_drafts, queue.limits, strict=True):
            over = excess(limit.maximum or {}, limit_above)
            if over and draft.maximum is not None:
                text = (
                    f"maximum resource {shown(limit.maximum or {}, over)} of a limit of queue"
                    f" {queue.path} is larger than {shown(limit_above, over)} of the queues above,"
                    " which win"
                )
                path = draft.maximum.path
                self._findings.warn(draft.maximum.node, path, "LIM-72", text, "lower it")

    def _note(self, at: AmountsDraft | QueueDraft, rule: str, text: str, hint: str) -> None:
        self._findings.add(at.node, at.path, rule, text, hint)


def _above_zero(amounts: Amounts) -> Resource | None:
    """Return amounts that mean something for a template, None if all are 0. Implements: TPL-3."""
    return None if is_zero(amounts.values) else amounts.values
