"""The content words of a text in a form that must never change, because stored sketches of forgotten text depend on it.

Scripts without spaces are cut into pairs of characters. Search has its own word forms (`domain.word_forms`).
"""

import re
import unicodedata

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")  # noqa: RUF001 - both apostrophes are typed
# Han, Hiragana, Katakana, Hangul and Thai are written without spaces, or with endings that hide the word.
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_POSSESSIVE = re.compile(r"['’]s$")  # noqa: RUF001
_SHORTEST_PLURAL = 4

_STOP_WORDS = """
a about all also am an and any are as at be been but by can could did do does for from had has have he her him his how
i if in into is it its just know me my no not of on or our out she so some tell than that the their them then there
these they this those to up us user was we were what when where which who whom why will with would you your
remember remembered anything something everything please
der die das den dem ein eine und ist sind wie was wo wer ich du er sie es wir ihr mein meine zu mit von für auf
el la los las un una y es son que qué de del en mi tu su con por para cómo dónde quién cuál
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())


def words(text: str) -> list[str]:
    """Return the words of the text that carry meaning, in order, with repetitions."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: list[str] = []
    for match in _WORD.finditer(folded):
        found.extend(_parts(match.group()))
    return [word for word in found if word not in STOP_WORDS]


def _parts(run: str) -> list[str]:
    parts: list[str] = []
    end = 0
    for match in _UNSPACED.finditer(run):
        if match.start() > end:
            parts.append(_singular(run[end : match.start()]))
        parts.extend(_pairs(match.group()))
        end = match.end()
    if end < len(run):
        parts.append(_singular(run[end:]))
    return parts


def _pairs(signs: str) -> list[str]:
    return [signs] if len(signs) == 1 else [signs[place : place + 2] for place in range(len(signs) - 1)]


def _singular(word: str) -> str:
    word = _POSSESSIVE.sub("", word)
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    return word[:-3] + "y" if word.endswith("ies") else word[:-1]
