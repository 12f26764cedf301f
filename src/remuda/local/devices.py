"""Cores and GPUs: which are free, and which task has which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from remuda.local.records import GPU, Task, whole_cores

# Order of lists: by number for cores, as the machine lists them for GPUs.
_NONE: Final = -1


class Devices:
    """The cores and GPUs of this machine that are handed out one by one.

    The scheduler has counted them before, so there are enough, unless tasks that were started when
    the machine had more of them still run. A task gets fewer then.
    """

    def __init__(self, cores: Sequence[int], gpus: Sequence[str]) -> None:
        self._cores = tuple(cores)
        self._gpus = tuple(gpus)
        self._free_cores = list(cores)
        self._free_gpus = list(gpus)

    def take(self, task: Task, resources: Mapping[str, int]) -> None:
        """Give a task whole cores, if it asks for whole ones, and its GPUs. Rules: EXT-106."""
        cores = self._free_cores[: whole_cores(resources)]
        gpus = self._free_gpus[: resources.get(GPU, 0)]
        task.cores, task.gpus = tuple(cores), tuple(gpus)
        self.keep(task)

    def keep(self, task: Task) -> None:
        """Note what a task has already."""
        self._free_cores = [each for each in self._free_cores if each not in task.cores]
        self._free_gpus = [each for each in self._free_gpus if each not in task.gpus]

    def give_back(self, task: Task, others: Sequence[Task]) -> None:
        """Take back what a task had; ``others``: those that run, whose devices stay theirs."""
        held_cores = {core for each in others for core in each.cores}
        held_gpus = {gpu for each in others for gpu in each.gpus}
        free_cores = {*self._free_cores, *task.cores} - held_cores
        free_gpus = {*self._free_gpus, *task.gpus} - held_gpus
        self._free_cores = [each for each in self._cores if each in free_cores]
        self._free_gpus = [each for each in self._gpus if each in free_gpus]
