"""From a run of a study to its scenario, and from there to its figures."""

from __future__ import annotations

from typing import final

from remuda.base.errors import ConfigError, UsageError
from remuda.sim.experiment import Options, prepare
from remuda.sim.simulator import Scenario, simulate
from remuda.study.fairness import contended
from remuda.study.figures import Content, figures_of
from remuda.study.keys import OFF
from remuda.study.plan import Run
from remuda.study.variation import varied


def scenario_of(run: Run) -> Scenario:
    """Return the scenario of a run before its seed changes it.

    Raises: UsageError, one line that names the place in the study; ConfigError.
    """
    trace, variant = run.trace, run.variant
    options = Options(
        workload=trace.workload,
        nodes=trace.nodes,
        format=trace.format,
        config=run.configuration.file,
        queue_by=trace.queue_by,
        node_sort=variant.node_sort,
        from_seconds=trace.from_seconds,
        to_seconds=trace.to_seconds,
        seed=run.seed,
        reservation_delay=variant.reservation_delay,
        gangs=variant.gangs != OFF,
        gang_style="Hard" if variant.gangs == "hard" else "Soft",
        preemption=variant.preemption,
    )
    try:
        return prepare(options)[0]
    except ConfigError as error:
        first = error.problems[0].text(error.source)
        raise UsageError(f"{run.configuration.place}: {first}") from None
    except UsageError as error:
        names = f"{trace.name}, {run.configuration.name}, {variant.name}"
        raise UsageError(f"{trace.place}: ({names}): {error}") from None


@final
class Stage:
    """Plays runs one after the other; keeps the scenario that neighbouring runs have in common."""

    def __init__(self) -> None:
        self._key: tuple[str, str, str] | None = None
        self._scenario: Scenario | None = None
        self._resource = ""

    def play(self, run: Run) -> Content:
        """Return the result of a run: its names and its figures. Raises: UsageError."""
        key = (run.trace.name, run.configuration.name, run.variant.name)
        if self._scenario is None or key != self._key:
            self._scenario = scenario_of(run)
            self._resource = contended(self._scenario)
            self._key = key
        scenario = varied(self._scenario, run.variation, run.seed)
        outcome = simulate(scenario, _nobody)
        return {
            "id": run.run_id,
            "trace": run.trace.name,
            "configuration": run.configuration.name,
            "variant": run.variant.name,
            "seed": run.seed,
            "node_failures": len(scenario.outages),
            **figures_of(scenario, outcome, self._resource),
        }


def _nobody(done: int) -> None:
    """Report nothing while a run is played: progress counts whole runs."""
