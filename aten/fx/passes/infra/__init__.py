"""Passes over graphs as objects, and what runs several of them."""
