"""Where each memory lies in the table, and what is in its item."""
