"""Which values of a joint graph its forward saves for backward."""

from dynamo.backends.partition import min_cut_rematerialization_partition

__all__ = ["min_cut_rematerialization_partition"]
