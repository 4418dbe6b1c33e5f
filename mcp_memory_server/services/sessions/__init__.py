"""Store and cache the turns and the shared state of running sessions."""
