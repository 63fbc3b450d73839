"""What weft.nn.functional has beyond the ops of aten, by family."""
