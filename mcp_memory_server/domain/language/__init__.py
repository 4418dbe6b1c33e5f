"""How people write: words, sentences, dates and set phrases in the supported languages."""
