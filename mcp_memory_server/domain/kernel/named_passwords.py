"""Find passwords and keys that a text names: "password: …", "the API key is …", in nine languages.

A name alone proves nothing, because most sentences about passwords hold none. What follows the name has to look like a
password, or be in a place where only a password can be.
"""

import re
from collections.abc import Iterator

LONGEST_VALUE = 128
LONGEST_KEY = 500
LONGEST_QUALIFIER = 40
"""Characters between the name and the value: "password *for the router in the cellar* is …"."""
SHORTEST_PASSWORD = 4
SHORTEST_WORD = 6
SHORTEST_UNMARKED = 8
SHORTEST_KEY = 12
PASSPHRASE_WORDS = 3

_PASSWORD_NAMES = (
    "passwor", "passwd", "passcode", "passphrase", "pwd", "kennwort", "contrase", "mot de passe", "senha", "wachtwoord",
    "lösenord", "пароль", "clave", "pw", "wlan", "wifi key", "パスワード", "密码", "密碼", "口令", "暗証番号",
)  # fmt: skip
"""How names of passwords begin, in lower case."""
_NAME = (
    r"passw(?:or[dt]|d)s?|passcode|passphrase|pwd|kennwort|contrase(?:ñ|n)a|mot de passe|senha|wachtwoord|lösenord"
    r"|пароль|pw\b|wlan-?(?:schlüssel|key)|wifi key|clave(?=\s?(?:es\b|[:=]))"
    r"|clave (?:secreta|de acceso|del? (?:wi-?fi|router|correo))|パスワード|密码|密碼|口令|暗証番号"
)
_QUALIFIER = (
    r"(?:\s+(?:for|to|of|on|at|from|vom|von|für|fürs|zum|zur|im|del?|de la|para|pour|pra|da|do|du|voor|di)\b"
    rf"[^\n.:;=!?]{{1,{LONGEST_QUALIFIER}}}?)?"
)
_VERB = (
    r"\s+(?:(?:is |was |has been )?(?:re)?(?:set|changed) to|is|was|are|ist|war|lautet|heißt|es|era|est|était|é|è)\s+"
    r"(?:now |still |currently |jetzt |nun |ahora |ora |maintenant |agora )?"
)
_SIGN = r"\s{0,3}(?:=>?|:|：|->|→)\s{0,9}"  # noqa: RUF001 - also the colon of other scripts
_PARTICLE = r"\s?(?:は|が|是|为|為)\s?"
_VALUE = (
    r"(?P<value>\\*[\"'`「『“][^\"'`」』”\n]{1,100}[\"'`」』”]"
    rf"|[!-~À-ɏ]{{1,{LONGEST_VALUE}}})"
)
_PASSWORD = re.compile(
    rf"(?P<name>{_NAME})[\"'`]?{_QUALIFIER}(?:(?P<sign>{_SIGN})|(?P<verb>{_VERB})|(?P<particle>{_PARTICLE})){_VALUE}",
    re.IGNORECASE,
)
_UNMARKED = re.compile(rf"(?:{_NAME})\s{_VALUE}", re.IGNORECASE)
_WORDS = re.compile(
    rf"phrase(?: is|:|=)\s{{1,3}}(?P<value>[a-z]+(?: [a-z]+){{{PASSPHRASE_WORDS - 1},30}})", re.IGNORECASE
)
_BEFORE_PHRASE = re.compile(r"(?:pass|(?:seed|recovery|mnemonic|secret) )$", re.IGNORECASE)
_KEY = re.compile(
    rf"(?:key|secret|token)[\"'`]?{_QUALIFIER}(?:{_SIGN}|{_VERB})[\"'`]?"
    rf"(?P<value>[\w.~+/=-]{{{SHORTEST_KEY},{LONGEST_KEY}}})",
    re.IGNORECASE | re.ASCII,
)
_BEFORE_KEY = re.compile(
    r"(?:api|access|secret|private|signing|encryption|account|auth|refresh|session|client|bearer)[ _-]?$", re.IGNORECASE
)
_PIN = re.compile(
    rf"(?:(?:PIN|Pin|pin number)\b{_QUALIFIER}(?:{_SIGN}|{_VERB})|PIN |pin(?:{_SIGN}|{_VERB})(?=\d{{4}}\b)"
    rf"|暗証番号(?:{_SIGN}|{_PARTICLE}))"
    r"(?P<value>\d{4,8})(?![A-Za-z0-9])"
)
_SECURITY_CODE = re.compile(r"cv[vc]2?(?: code)?(?: is|:|=)? ?(?P<value>\d{3,4})\b", re.IGNORECASE)
_NUMBERS = (("PIN", _PIN, ("pin", "暗証番号")), ("card security code", _SECURITY_CODE, ("cvv", "cvc")))

_PLACEHOLDER = re.compile(r"[\W_]*$|[<{(\[$%]|[x*•.…-]{3,}\W*$", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:\w+:)?//|[~.]{0,2}/|[\w.+-]+@[\w-]+(?:\.[a-z]{2,})+$", re.IGNORECASE)
_CODE = re.compile(r"[\w.]*[(\[]|[a-z_]+(?:\.[a-z_]+)+$", re.IGNORECASE)
_LENGTH = re.compile(r"\d{1,3}(?:st|nd|rd|th)?(?:-[^\W\d]+)?$")
_METHOD = re.compile(
    r"(?:1password|sha-?\d+|md5|base64|utf-?\d+|oauth\d?|bcrypt\d*|argon2\w*|rfc-?\d+|v?\d+(?:\.\d+)+)$", re.IGNORECASE
)
_SOMETHING_ELSE = (_PLACEHOLDER, _ADDRESS, _CODE, _LENGTH, _METHOD)
_JOINED_WORDS = re.compile(r"[a-z]+(?:-[a-z]+){3,}$", re.IGNORECASE)
_UP_TO_THE_NEXT = re.compile(r"""["'`]|[;&](?=\w+=)""")
_SAID_OF_PASSWORDS = """
abgelaufen absent anders atob available bekannt bytes cambiada changed cifrada compromised correct débil different
disabled empty encrypted env expired falsch faible forgotten fraca geheim geschichte hidden incorrect incorrecta
invalid known length mandatory masked missing needed none null obligatoire obligatoria optional outdated password
passwort pflicht private protected public redacted required reused reset safe same saved secret secreta secrète
secure segura senha shared sicher siehe simple stored stolen strange string strong sûr text unchanged undefined
unique unknown unsafe unset vacía valid varchar visible weak wrong
"""
_NOT_A_PASSWORD = frozenset(_SAID_OF_PASSWORDS.split())
_PREDICATE_ENDINGS = ("ed", "ing", "able", "ible", "ous", "less", "ful")
_BEHIND = " \t.,;:!?)]}>\"'`”」』。、，；"  # noqa: RUF001 - also the punctuation of other scripts
_QUOTES = "\\\"'`「」『』“”"


def named_secrets(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the start and the end of each secret that the text names."""
    lower = _lower_case(text)
    for place in _places(lower, *_PASSWORD_NAMES):
        yield from _password_at(place, text)
    for place in _places(lower, "phrase"):
        if (found := _WORDS.match(text, place)) and _BEFORE_PHRASE.search(text, max(0, place - 9), place):
            yield "passphrase", *found.span("value")
    for place in _places(lower, "key", "secret", "token"):
        yield from _key_at(place, text)
    for kind, pattern, names in _NUMBERS:
        for place in _places(lower, *names):
            if (found := pattern.match(text, place)) and not text[max(0, place - 1) : place].isalnum():
                yield kind, *found.span("value")


def _lower_case(text: str) -> str:
    """Return the text in lower case with every character at its place: some would become two characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(one.lower() if len(one.lower()) == 1 else one for one in text)


def _places(lower: str, *words: str) -> Iterator[int]:
    """Yield where the words begin. This is far quicker than one case-insensitive pattern, and most texts have none."""
    for word in words:
        place = lower.find(word)
        while place >= 0:
            yield place
            place = lower.find(word, place + 1)


def _password_at(place: int, text: str) -> Iterator[tuple[str, int, int]]:
    if found := _PASSWORD.match(text, place):
        if (span := _password_in(found, text)) is not None:
            yield "password", *span
    elif found := _UNMARKED.match(text, place):
        value = found["value"].strip(_BEHIND + _QUOTES)
        if len(value) >= SHORTEST_UNMARKED and (_is_mixed(value) or value.isdigit()) and not _is_something_else(value):
            start = text.index(value, found.start("value"))
            yield "password", start, start + len(value)


def _key_at(place: int, text: str) -> Iterator[tuple[str, int, int]]:
    found = _KEY.match(text, place)
    is_named = text[place] not in "kK" or _BEFORE_KEY.search(text, max(0, place - 12), place)
    if found and is_named:
        value = found["value"].rstrip(".")
        if _is_mixed(value) and not _is_something_else(value):
            yield "key", found.start("value"), found.start("value") + len(value)


def _password_in(found: re.Match[str], text: str) -> tuple[int, int] | None:
    """Return where in the value the password is; None if it holds none."""
    value, start = found["value"], found.start("value")
    quoted = value[0] in _QUOTES and len(value) > 2
    if not quoted:
        value = value.rstrip(_BEHIND)
        if found["sign"]:
            value = _UP_TO_THE_NEXT.split(value, maxsplit=1)[0]
    plain = value.strip(_QUOTES)
    if len(plain) < SHORTEST_PASSWORD or _is_something_else(plain):
        return None
    words = plain.count(" ") + 1
    is_phrase = words > PASSPHRASE_WORDS + 1 or (words > 1 and plain.replace(" ", "").isalpha())
    if quoted and is_phrase:
        return None
    if quoted or _is_machine_like(plain) or (not found["particle"] and _is_the_last_word(plain, found, text)):
        start += value.index(plain)
        return start, start + len(plain)
    return None


def _is_something_else(value: str) -> bool:
    """Check whether the value is a placeholder, an address, a piece of code, or a general statement about passwords."""
    return value.lower() in _NOT_A_PASSWORD or any(pattern.match(value) for pattern in _SOMETHING_ELSE)


def _is_machine_like(value: str) -> bool:
    if _is_mixed(value) or value.isdigit():
        return True
    return re.search(r"\w[!$%&*+#@^~?=]", value) is not None or _JOINED_WORDS.match(value) is not None


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_the_last_word(value: str, found: re.Match[str], text: str) -> bool:
    """Check whether a plain word ends its clause as a password does: "my password is swordfish"."""
    behind = text[found.start("value") + len(value) : found.end("value") + 1]
    if len(value) < SHORTEST_WORD or not value.isalpha() or behind[:1] not in ("", *_BEHIND.strip(), "\n"):
        return False
    english = found["name"].lower().startswith(("pass", "pwd")) and not found["name"].lower().startswith("passwort")
    if found["verb"] and value.islower():
        return english and not value.endswith(_PREDICATE_ENDINGS)
    return not value.endswith(_PREDICATE_ENDINGS)
