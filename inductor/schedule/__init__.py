"""Operations → kernels in order → a Program."""


def __getattr__(name: str):
    if name == "schedule":  # loaded on first use: a warm start needs none of it
        from inductor.schedule.kernels import schedule

        return schedule
    raise AttributeError(f"module 'inductor.schedule' has no attribute {name!r}")
