"""The sentence transformer multilingual-e5-small, which ships with the package. It needs numpy alone."""
