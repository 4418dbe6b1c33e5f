"""The mean vector of questions, which is taken off the vector of a question.

The mean of all languages is half English. What then remains of a question in Japanese or Chinese says for a good part
that it is one, and so the same few memories in that language are near to whatever is asked. That is why most of what is
taken off these is the mean of their own language. Their script shows which one that is; others share a script.
"""

import re
from pathlib import Path

import numpy as np

from mcp_memory_server.adapters.multilingual_e5.weights import Floats, Weights
from mcp_memory_server.domain.language.word_forms import is_latin

MEANS = Path(__file__).with_name("question_means.safetensors")

SHARE_OF_LANGUAGE = 2 / 3
"""So much of what is taken off is the mean of the language (plateau: 0.4 to 0.9), the rest that of all languages."""

JAPANESE, CHINESE = "japanese", "chinese"

_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class QuestionMeans:
    """The mean of questions in all languages, and in those that have one of their own."""

    def __init__(self, of_all: Floats) -> None:
        """``of_all`` is the mean of questions in all languages."""
        own = Weights(MEANS)
        self._of_all = of_all
        self._of_language = {language: _mixed(of_all, own[language]) for language in (JAPANESE, CHINESE)}

    def of(self, question: str) -> Floats:
        """Return the mean of questions such as this one."""
        language = _language(question)
        return self._of_all if language is None else self._of_language[language]


def _mixed(of_all: Floats, of_language: Floats) -> Floats:
    return (of_all + SHARE_OF_LANGUAGE * (of_language - of_all)).astype(np.float32)


def _language(question: str) -> str | None:
    """Return the language if it has a mean of its own. Chinese characters alone may be Japanese, which does no harm."""
    if is_latin(question):
        return None
    if _KANA.search(question):
        return JAPANESE
    return CHINESE if _HAN.search(question) else None
