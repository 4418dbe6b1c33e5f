"""Guards against runaway agents and deadlocks."""
