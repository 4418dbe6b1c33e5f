"""The mean vector of questions, which is subtracted from the vector of a question.

The mean of all languages is half English. What then remains of a question in another language says for a good part that
it is in that language, and so the same few memories in it are near to whatever is asked. That is why most of what is
subtracted from these is the mean of their own language. Script and stop words show which one that is; a question of a
few words may show none, and is taken as English.
"""

import re
from pathlib import Path

import numpy as np

from mcp_memory_server.adapters.multilingual_e5.weights import Floats, Weights
from mcp_memory_server.domain.language.word_forms import is_latin, language_of, words_of

MEANS = Path(__file__).with_name("question_means.safetensors")

SHARE_OF_LANGUAGE = 2 / 3
"""So much of what is subtracted is the mean of the language (plateau: 0.4 to 0.9), the rest that of all languages."""

JAPANESE, CHINESE = "japanese", "chinese"
LANGUAGES = ("german", "spanish", "french", "italian", "portuguese", JAPANESE, CHINESE)
"""The languages that have a mean of their own."""

_KANA = re.compile(r"[\u3041-\u30ff]")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")


class QuestionMeans:
    """The mean of questions in all languages, and in those that have one of their own."""

    def __init__(self, of_all: Floats) -> None:
        """``of_all`` is the mean of questions in all languages."""
        own = Weights(MEANS)
        self._of_all = of_all
        self._of_language = {language: _mixed(of_all, own[language]) for language in LANGUAGES}

    def of(self, question: str) -> Floats:
        """Return the mean of questions such as this one."""
        return self._of_language.get(_language(question), self._of_all)


def _mixed(of_all: Floats, of_language: Floats) -> Floats:
    return (of_all + SHARE_OF_LANGUAGE * (of_language - of_all)).astype(np.float32)


def _language(question: str) -> str:
    """Return the language of a question. Chinese characters alone may be Japanese, which does no harm."""
    if not is_latin(question):
        if _KANA.search(question):
            return JAPANESE
        if _HAN.search(question):
            return CHINESE
    return language_of(words_of(question))
