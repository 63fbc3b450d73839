"""What programs ask of Intel's GPUs: there are none."""

from weft import absent


def is_available() -> bool:
    """False: there are no kernels for this device."""
    return False


def device_count() -> int:
    """0."""
    return 0


def is_initialized() -> bool:
    """False."""
    return False


def manual_seed(seed: int) -> None:
    """Nothing: there is no device."""


manual_seed_all = manual_seed


def empty_cache() -> None:
    """Nothing: there is no device."""


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no device."""
    return False


def get_arch_list() -> list[str]:
    """None."""
    return []


def memory_allocated(device: object = None) -> int:
    """0, as of all that there is no device for."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated

globals().update(
    absent.functions(
        "XPU",
        AssertionError,
        "Event Stream StreamContext current_device current_stream get_device_capability get_device_name get_device_properties "
        "get_rng_state get_rng_state_all init mem_get_info set_device set_rng_state set_stream stream synchronize",
    )
)
