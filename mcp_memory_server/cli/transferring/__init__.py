"""Files of the export and the import."""
