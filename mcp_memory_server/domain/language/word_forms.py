"""The terms under which texts are indexed and questions are looked up, in many languages.

The language is guessed from the script and the stop words, which is cheap and, for a few words, often wrong. A question
is therefore looked up in the forms of every language in the index.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from types import MappingProxyType

from mcp_memory_server.domain.language.stop_words import ASKING, STOP_SIGNS, STOP_WORDS

Stemmer = Callable[[str, list[str]], list[str]]
"""Return the stems of words of a language, in their order. It knows the languages that ``language_of`` returns."""

UNSPACED = ""
"""The language of texts without spaces, which have no stems."""

WEAK_WEIGHT = 0.3
"""The weight of words about asking, and of pairs of characters that are mostly endings; a content word has 1."""
MOST_ASKED = 64
"""The most different words of a question that are looked up. Further words of a very long question add nothing."""
SINGLE_SIGN_WEIGHT = 0.5
"""The weight of a single Chinese character, which is half a word."""

LONGEST_JUDGED = 1_000
"""The number of characters that decide about the script of a text."""

_AFTER_LATIN = "\u0250"
_WORD = re.compile(r"[^\W_]+")
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々"
_HIRAGANA = r"\u3040-\u309f"
_SIGNS = re.compile(rf"[{_HAN}]+|[{_HIRAGANA}]+|[\u30a0-\u30ff]+|[\uac00-\ud7af]+|[\u0e00-\u0e7f]+")
_ONE_HAN = re.compile(rf"[{_HAN}]")
_ENDING = re.compile(rf"[{_HIRAGANA}]+")
_SCRIPTS = (
    (re.compile(r"[\u0400-\u04ff]"), "russian"),
    (re.compile(r"[\u0370-\u03ff]"), "greek"),
    (re.compile(r"[\u0600-\u06ff]"), "arabic"),
    (re.compile(r"[\u0900-\u097f]"), "hindi"),
)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case; for a script without spaces its characters and their pairs."""
    found: list[str] = []
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        if word.isascii():
            found.append(word)
        else:
            found.extend(_parts(word))
    return found


def _parts(word: str) -> Iterable[str]:
    end = 0
    for match in _SIGNS.finditer(word):
        yield from filter(None, [word[end : match.start()]])
        yield from _pieces(match.group())
        end = match.end()
    yield from filter(None, [word[end:]])


def _pieces(characters: str) -> Iterable[str]:
    if _ONE_HAN.match(characters):
        yield from characters
    yield from (characters[place : place + 2] for place in range(len(characters) - 1))


def is_piece(word: str) -> bool:
    """Check whether what ``words_of`` returned is one or two characters of an unspaced script, and no whole word."""
    return not word.isascii() and _SIGNS.match(word) is not None


def language_of(words: Sequence[str]) -> str:
    """Return the most probable language of the words; English if nothing speaks for another one."""
    for script, language in _SCRIPTS:
        if any(script.match(word) for word in words if not word.isascii()):
            return language
    if words and all(_SIGNS.match(word) for word in words):
        return UNSPACED
    return max(STOP_WORDS, key=lambda language: sum(word in STOP_WORDS[language] for word in words))


def is_latin(text: str) -> bool:
    """Check whether most letters of a text are Latin."""
    if text.isascii():
        return True
    letters = [character for character in text[:LONGEST_JUDGED] if character.isalpha()]
    return 2 * sum(character < _AFTER_LATIN for character in letters) > len(letters)


def terms_of(text: str, stem: Stemmer) -> tuple[str, list[str]]:
    """Return the language of a text, and the terms under which it is indexed, with repetitions."""
    words = words_of(text)
    language = language_of(words)
    return language, forms(_content_words(words), language, stem)


def forms(words: list[str], language: str, stem: Stemmer) -> list[str]:
    """Return the words as they are indexed in a text of the language: stems without accents."""
    return [_plain(word) for word in (stem(language, words) if language != UNSPACED else words)]


@lru_cache(maxsize=100)
def asked_words(question: str) -> Mapping[str, float]:
    """Return the content words of a question, each with its weight of at most 1. They are not stemmed yet."""
    words = dict.fromkeys(_content_words(words_of(question)))
    return MappingProxyType({word: _weight(word) for word in islice(words, MOST_ASKED)})


def _content_words(words: list[str]) -> list[str]:
    stop_words = STOP_WORDS.get(language_of(words), frozenset[str]())
    return [word for word in words if word not in stop_words and word not in STOP_SIGNS]


def _weight(word: str) -> float:
    if word in ASKING or _ENDING.fullmatch(word):
        return WEAK_WEIGHT
    return SINGLE_SIGN_WEIGHT if len(word) == 1 and _ONE_HAN.match(word) else 1.0


@lru_cache(maxsize=50_000)
def _plain(word: str) -> str:
    if word.isascii() or _SIGNS.match(word):
        return word
    return "".join(
        character for character in unicodedata.normalize("NFD", word) if not unicodedata.combining(character)
    )
