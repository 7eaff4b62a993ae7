"""Failures other evaluation tools have met, replayed against this one."""
