"""Summaries: of a session, of a week and a month, and the requests to models that write them."""
