"""What programs ask of Intel's GPUs: there are none."""


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
