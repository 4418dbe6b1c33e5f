"""What the services ask of the outside world. Each docstring is a contract, tested once for every adapter."""
