"""A busy machine is no failure: properties have no deadline, only pytest's own for a test."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
