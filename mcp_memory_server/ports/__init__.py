"""The interfaces that the services need from the outside world. Each docstring is a contract, tested once for every
adapter.
"""
