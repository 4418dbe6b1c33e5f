"""The item table through a DAX cluster."""
