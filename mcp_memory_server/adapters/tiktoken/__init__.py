"""Token counts of OpenAI's cl100k_base encoding, from ranks that ship with the package."""
