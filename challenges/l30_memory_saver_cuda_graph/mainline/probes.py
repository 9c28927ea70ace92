"""The lab's own probes of the manager, on sglang's: over a recorder, and over the learner's saver."""

import sys

import probes


class Upstream:
    """sglang's manager under the calling convention of the lab's; a request is taken by any object with `tags`."""

    def __new__(cls, *, flush_cache, is_fully_idle, **given):
        module = sys.modules["sglang.srt.managers.scheduler_components.weight_updater"]
        asked = {"flush_cache": flush_cache, "is_fully_idle": lambda ignore_waiting: is_fully_idle()}
        made = module.SchedulerWeightUpdaterManager(draft_worker=None, **given, **asked)
        return made


def patch(name, inputs):
    """The probe of that name in probes.py, for each of the inputs."""
    return [getattr(probes, name)(**one) for one in inputs]


def upstream(name, inputs):
    """The same with sglang's manager in the place of the lab's."""
    probes.SchedulerWeightUpdaterManager = Upstream
    return patch(name, inputs)
