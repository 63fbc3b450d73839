"""Parts of aot under the names of their files in PyTorch."""
