"""A DAX cluster for tests: it speaks DAX's wire protocol to the unmodified client. See the README beside this file."""
