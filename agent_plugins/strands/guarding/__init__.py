"""Guard the tools of agents: owners, circuits, time limits, connections."""
