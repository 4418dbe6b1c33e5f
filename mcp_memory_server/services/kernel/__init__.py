"""What every service uses: workers, retries, embeddings, the snapshot of a user, spending."""
