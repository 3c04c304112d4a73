"""Readers of the log formats of tools, one module each."""
