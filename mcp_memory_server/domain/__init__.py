"""Values and decisions: standard library only, no waiting, time is an argument."""
