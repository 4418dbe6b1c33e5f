"""Types and rules that every subject uses: owners, items of the table, ids, text, vectors, secrets."""
