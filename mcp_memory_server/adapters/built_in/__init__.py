"""The models that ship with the package and need no download, key or service."""
