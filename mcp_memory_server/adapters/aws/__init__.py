"""What the adapters on AWS share: how a client is made and used, and what its errors about the account mean."""
