"""Files of SQLite: find, make, check and open them."""
