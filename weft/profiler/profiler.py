"""The profiler, under the name that PyTorch has for the file."""

from weft.profiler import ProfilerAction, profile, schedule, supported_activities, tensorboard_trace_handler

__all__ = ["ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]
