"""What programs ask of Apple's GPUs: there are none."""


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
