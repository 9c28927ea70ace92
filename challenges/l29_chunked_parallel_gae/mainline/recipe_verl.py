"""Load verl's core_algos.py and torch_functional.py; their packages' own imports (ray, transformers, …) do not run."""

from grading.sandbox.stubs import hollow, same, stub

hollow(snapshot, "verl", "verl.trainer", "verl.trainer.ppo", "verl.utils")  # noqa: F821
stub("omegaconf", "DictConfig")
stub("tensordict", "TensorDict")
stub("transformers", "PreTrainedTokenizer")
stub("verl.trainer.config", "AlgoConfig")
stub("verl.workers")
stub("verl.workers.config", "ActorConfig")
stub("verl.utils.device", "get_device_name get_torch_device")
stub("verl.utils.import_utils", deprecated=same)
stub("verl.utils.groupwise", "as_torch_index group_mean_std")
import verl.utils  # noqa: E402

verl.utils.as_torch_index = verl.utils.groupwise.as_torch_index
verl.utils.group_mean_std = verl.utils.groupwise.group_mean_std
import verl.trainer.ppo.core_algos  # noqa: E402
