"""Load sglang's SchedulerWeightUpdaterManager with its tags; the server around it stays out.

What it asks the server at run time is answered here: a group of one rank, no weight cache, and two empty answers.
"""

from types import SimpleNamespace

from grading.sandbox.stubs import hollow, permissive, stub

INSIDE = ("sglang", "sglang.srt", "sglang.srt.managers", "sglang.srt.managers.scheduler_components")
hollow(snapshot, *INSIDE)  # noqa: F821


class Struct:
    """msgspec's, as far as a class statement goes."""

    def __init_subclass__(cls, **options):
        pass


class ReleaseMemoryOccupationReqOutput:
    pass


class ResumeMemoryOccupationReqOutput:
    pass


stub("msgspec", Struct=Struct)
permissive("sglang.srt.disaggregation")
permissive("sglang.srt.disaggregation.utils")
outputs = (ReleaseMemoryOccupationReqOutput, ResumeMemoryOccupationReqOutput)
permissive("sglang.srt.managers.io_struct", **{one.__name__: one for one in outputs})
stub(
    "sglang.srt.runtime_context",
    get_parallel=lambda: SimpleNamespace(tp_group=SimpleNamespace(cpu_group=None)),
    get_model=lambda: SimpleNamespace(weight_cache_mode="off"),
)
permissive("sglang.srt.utils")
stub("sglang.srt.utils.weight_checker", "overall_checksum")

import sglang.srt.managers.scheduler_components.weight_updater  # noqa: E402, F401
