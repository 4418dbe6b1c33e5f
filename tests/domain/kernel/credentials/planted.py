"""Made-up credentials in sentences, as people and programs write them. Every value is made when it is asked for."""

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase, digits, hexdigits

LETTERS = ascii_lowercase + ascii_uppercase + digits
HEX = hexdigits[:16]

PROSE = (
    "{}", "Ana's key is {} for now.", "Remember this: {}", "Der Schlüssel ist {}.", "La llave es {}", "鍵は{}です。",
    "export KEY={}", '{{"value": "{}"}}', "use `{}` in the header",
)  # fmt: skip
NAMED_PASSWORDS = (
    "password: {}", "Password = {}", "Ana's wifi password is {}.", "The password for the router is {}",
    "her old password was {}", "my password is now {}, she said", "the password to my laptop is '{}'",
    'password is "{}"', "DB_PASSWORD={}", '{{"password": "{}"}}', "--password={} --verbose", "pwd: {}",
    "log in as ana with password {}", "The password was changed to {} on Monday.", "passcode: {}",
    "Das Passwort ist {}.", "Passwort: {}", "Das WLAN-Passwort lautet {}", "Kennwort: {}",
    "Das Passwort vom Router ist {}",
    "La contraseña es {}", "contraseña: {}", "La contraseña del wifi es {}.", "La clave del wifi es {}",
    "Das Passwort fürs Gästenetz heißt {}", "the pw is {}", "Netflix: ana@example.com / password {}",
    "mi clave es {}", "Le mot de passe est {}.", "mot de passe : {}", "Le mot de passe du wifi est {}",
    "A senha é {}", "senha: {}", "A senha do wifi é {}.", "La password del wifi è {}",
    "パスワードは{}です。", "パスワード：{}",  # noqa: RUF001
    "Wi-Fiのパスワードは「{}」", "密码是{}", "密码：{}",  # noqa: RUF001
    "无线密码为 {}", "口令是{}",
)  # fmt: skip
WORDS = ("swordfish", "sunshine", "Sommerregen", "marzipan", "Butterblume", "trustno")


@dataclass(frozen=True)
class Planted:
    """A text with a credential in it; no piece of ``secret`` may be left of it."""

    kind: str
    text: str
    secret: str


def planted(seed: int = 1) -> Iterator[Planted]:
    """Yield sentences with made-up credentials, each kind in several surroundings."""
    draw = random.Random(seed)
    for kind, values in _tokens(draw).items():
        for value in values:
            yield Planted(kind, draw.choice(PROSE).format(value), value)
    for template in NAMED_PASSWORDS:
        for value in (_password(draw), _password(draw), _simple_password(draw)):
            yield Planted("password", template.format(value), value)
    for word in WORDS:
        yield Planted("password", f"my password is {word}", word)
        yield Planted("password", f"Password: {word}", word)
    yield from _in_other_forms(draw)


def _tokens(draw: random.Random) -> dict[str, list[str]]:
    def mixed(length: int, letters: str = LETTERS) -> str:
        return "".join(draw.choices(letters, k=length))

    upper = ascii_uppercase + digits
    return {
        "AWS access key": [prefix + mixed(16, upper) for prefix in ("AKIA", "ASIA", "AKIA")],
        "AWS secret key": [_mixed_of_40(draw) for _ in range(4)],
        "GitHub token": [prefix + mixed(36) for prefix in ("ghp_", "gho_", "ghs_")] + ["github_pat_" + mixed(60)],
        "GitLab token": ["glpat-" + mixed(20), "glpat-" + mixed(24)],
        "Slack token": [f"xox{kind}-{mixed(11, digits)}-{mixed(12, digits)}-{mixed(24)}" for kind in "bp"],
        "Stripe key": [f"{kind}_{mode}_{mixed(24)}" for kind in ("sk", "rk") for mode in ("live", "test")],
        "OpenAI key": ["sk-" + mixed(48), "sk-proj-" + mixed(64)],
        "Anthropic key": ["sk-ant-" + f"api03-{mixed(80)}", "sk-ant-" + f"admin01-{mixed(70)}"],
        "Google key": ["AIza" + mixed(35), "ya29." + mixed(60), "GOCSPX-" + mixed(28)],
        "other token": ["hf_" + mixed(34), "npm_" + mixed(36), "pypi-" + mixed(80), "SG." + f"{mixed(22)}.{mixed(43)}"],
        "JWT": [_jwt(draw) for _ in range(4)],
        "private key": [_pem(draw, kind) for kind in ("RSA ", "", "OPENSSH ", "EC ")],
        "card": [_card(draw, prefix, length) for prefix, length in (("4", 16), ("52", 16), ("37", 15), ("6011", 16))],
    }


def _in_other_forms(draw: random.Random) -> Iterator[Planted]:
    for address in ("postgres://ana:{}@db.internal/memory", "redis://:{}@cache:6379/0", "https://ben:{}@example.com/x"):
        value = _password(draw).replace("/", "x").replace("@", "y").replace("#", "z")
        yield Planted("address", f"The database is {address.format(value)} in staging.", value)
    for form in ("Authorization: Bearer {}", "curl -H 'authorization: bearer {}'", "the bearer token is {}"):
        value = "".join(draw.choices(LETTERS, k=40))
        yield Planted("bearer token", form.format(value), value)
    for form in (
        "api_key={}",
        "The API key is {}",
        "api key: {}",
        "client_secret: {}",
        "access_token={}",
        "secret key: {}",
    ):
        value = "".join(draw.choices(ascii_lowercase + digits, k=24))
        yield Planted("key", form.format(value), value)
    encoded = base64.b64encode(b"ana:" + _password(draw).encode()).decode()
    yield Planted("basic", f"Authorization: Basic {encoded}", encoded)
    value = _password(draw)
    yield Planted("connection string", f"Server=db;Database=memory;User Id=ana;Password={value};Encrypt=true", value)
    card = _card(draw, "4", 16)
    for separator in (" ", "-"):
        spaced = separator.join(card[start : start + 4] for start in range(0, 16, 4))
        yield Planted("card", f"Her Visa is {spaced}, valid until 12/27.", spaced)
    yield Planted("PIN", "The PIN of her card is 4821.", "4821")
    yield Planted("PIN", "Die PIN ist 90210", "90210")
    yield Planted("PIN", "my banking pin is 5521", "5521")


def _password(draw: random.Random) -> str:
    word = "".join(draw.choices(ascii_lowercase, k=5)).capitalize()
    return f"{word}{draw.choice('!+$%&*')}{draw.randint(10, 99)}{''.join(draw.choices(LETTERS, k=4))}"


def _simple_password(draw: random.Random) -> str:
    """Return what people choose: a word and a year, or a word and some digits."""
    return f"{draw.choice(('Sommer', 'hunter', 'fritz', 'Lisboa'))}{draw.randint(1000, 2099)}"


def _mixed_of_40(draw: random.Random) -> str:
    body = "".join(draw.choices(LETTERS + "/+", k=36))
    return "aB3" + body + "z"


def _jwt(draw: random.Random) -> str:
    header = base64.urlsafe_b64encode(json.dumps({"alg": "HS256", "typ": "JWT"}).encode()).decode().rstrip("=")
    body = base64.urlsafe_b64encode(json.dumps({"sub": draw.randint(1, 10**9)}).encode()).decode().rstrip("=")
    return f"{header}.{body}.{''.join(draw.choices(LETTERS, k=43))}"


def _pem(draw: random.Random, kind: str) -> str:
    lines = ["".join(draw.choices(LETTERS, k=64)) for _ in range(8)]
    dashes = "-" * 5
    return "\n".join([f"{dashes}BEGIN {kind}PRIVATE KEY{dashes}", *lines, f"{dashes}END {kind}PRIVATE KEY{dashes}"])


def _card(draw: random.Random, prefix: str, length: int) -> str:
    body = prefix + "".join(draw.choices(digits, k=length - len(prefix) - 1))
    doubled = [int(digit) * (2 if place % 2 == 0 else 1) for place, digit in enumerate(reversed(body))]
    return body + str(-sum(sum(map(int, str(value))) for value in doubled) % 10)
