"""What every service uses: retries, write-behind, embeddings, the snapshots of users, spending."""
