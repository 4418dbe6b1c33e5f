"""What every subject uses: owners, items of the table, ids, text, secrets."""
