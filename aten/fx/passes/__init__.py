"""Passes over graphs that other libraries ask for by these names."""
