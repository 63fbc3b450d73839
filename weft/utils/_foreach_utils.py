"""Where ops on lists of tensors are one kernel, for code that asks before it chooses `foreach`."""


def _get_foreach_kernels_supported_devices() -> list[str]:
    """On the CPU they run one after another; compiled, whatever optimizer.step does is fused."""
    return ["cuda"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["cpu", "cuda"]
