"""Real engines for the tests: how they are installed, and how they are started."""
