"""Load TorchTitan's distributed/utils.py; what it imports of its own configuration and tools is not needed here."""

import torch._dynamo  # noqa: F401  # a functional collective imports it: once here, not in every rank

from grading.sandbox.stubs import hollow, same, stub

hollow(snapshot, "torchtitan", "torchtitan.distributed", "torchtitan.tools")  # noqa: F821
stub("spmd_types")
stub("spmd_types.checker", typecheck=same)
stub("torchtitan.config", "CommConfig DebugConfig")
stub("torchtitan.tools.logging", "logger")
stub("torchtitan.tools.utils", "device_module get_local_device", device_type="cpu")
import torchtitan.distributed.utils  # noqa: E402, F401
