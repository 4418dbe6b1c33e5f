"""Tokens as OpenAI's cl100k_base counts them, from ranks that ship with the package."""
