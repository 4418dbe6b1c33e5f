"""One class a subject. They do not call each other; what two of them need is domain or schema."""
