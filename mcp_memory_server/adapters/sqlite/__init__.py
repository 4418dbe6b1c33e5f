"""The embedded default: one SQLite file that many processes may share."""
