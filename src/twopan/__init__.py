"""Weigh every answer in both pans: LLM-as-a-judge evaluation you can gate a release on."""

__version__ = "0.1.0"
