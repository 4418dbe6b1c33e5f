"""Who may call over HTTP, and for whom: tokens, their verification, and what each permits."""
