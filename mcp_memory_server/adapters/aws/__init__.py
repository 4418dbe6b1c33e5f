"""Shared by the adapters on AWS: clients, and errors about the account."""
