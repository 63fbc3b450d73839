"""Custom ops, under the names that PyTorch has for the files."""
