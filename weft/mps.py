"""What programs ask of Apple's GPUs: there are none."""

from weft import absent


def is_available() -> bool:
    """False: there are no kernels for this device."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no device."""


def empty_cache() -> None:
    """Nothing: there is no device."""


globals().update(
    absent.functions(
        "MPS",
        RuntimeError,
        "Event current_allocated_memory driver_allocated_memory get_rng_state recommended_max_memory seed "
        "set_per_process_memory_fraction set_rng_state synchronize",
    )
)
