"""What ships with the package: a small model, so that meaning is found without a download, a key or a service."""
