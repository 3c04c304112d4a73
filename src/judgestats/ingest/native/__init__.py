"""Readers of the formats that tools write by themselves, one module each."""
