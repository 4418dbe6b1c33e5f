"""The technologies that answer the ports, one folder each."""
