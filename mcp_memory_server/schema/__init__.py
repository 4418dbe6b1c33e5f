"""Keys and bodies of the items in the table: where each kind of memory is stored and how it is encoded."""
