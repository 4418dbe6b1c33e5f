"""Extract what people state about themselves in so many words: employer, city and name.

Pattern rules for English, German, Spanish, Japanese and Chinese. A question, a condition or a negation is no statement;
the comments name similar phrases that must not match.
"""

import re

from mcp_memory_server.domain.language.sentences import asks

EMPLOYER, CITY, NAME = "work/employer", "personal/location/city", "personal/name"

# A name in Latin letters: words that begin with a capital, joined as names are.
_NAMED = r"([A-ZÀ-ÖØ-Þ][\w&.'’-]*(?: (?:de |del |da |la |of |von |zu |am )?[A-ZÀ-ÖØ-Þ0-9][\w&'’-]*){0,3})"  # noqa: RUF001
_SIGNS = r"([^\s、。，,はがでにもをのと]{1,20}?)"  # noqa: RUF001
# "if I work at", "do I live in", "when I lived in"
_SAYS = r"(?<!if )(?<!do )(?<!did )(?<!when )(?<!wenn )(?<!si )"
_LATELY = r"(?:now |currently |just |recently |actually |also |jetzt |inzwischen |ahora |actualmente )*"

_STATEMENTS = tuple(
    (re.compile(pattern), topic, template)
    for pattern, topic, template in (
        (rf"(?i:\b{_SAYS}i {_LATELY}work (?:at|for) ){_NAMED}", EMPLOYER, "The user works at {}."),
        (
            rf"(?i:\b{_SAYS}i(?:'m| am| was)? {_LATELY}(?:working (?:at|for)|hired by) ){_NAMED}",
            EMPLOYER,
            "The user works at {}.",
        ),
        (
            rf"(?i:\bi(?:'ve| have)? {_LATELY}(?:joined|started (?:at|with)|begun at|moved over to) ){_NAMED}",
            EMPLOYER,
            "The user works at {}.",
        ),
        (rf"(?i:\bmy (?:new )?(?:employer|company) is (?:now )?){_NAMED}", EMPLOYER, "The user works at {}."),
        (rf"(?i:\bich arbeite {_LATELY}(?:bei|für) ){_NAMED}", EMPLOYER, "The user works at {}."),
        (rf"(?i:\b(?<!no )trabajo {_LATELY}(?:en|para) ){_NAMED}", EMPLOYER, "The user works at {}."),
        (rf"(?i:\b{_SAYS}i {_LATELY}live in ){_NAMED}", CITY, "The user lives in {}."),
        (rf"(?i:\bi(?:'ve| have)? {_LATELY}(?:moved|relocated) to ){_NAMED}", CITY, "The user lives in {}."),
        (rf"(?i:\bich (?:wohne|lebe) {_LATELY}in ){_NAMED}", CITY, "The user lives in {}."),
        (rf"(?i:\bich bin {_LATELY}nach ){_NAMED}(?i: (?:um)?gezogen)", CITY, "The user lives in {}."),
        (rf"(?i:\b(?<!no )vivo {_LATELY}en ){_NAMED}", CITY, "The user lives in {}."),
        (rf"(?i:\bme (?:he mudado|mudé) a ){_NAMED}", CITY, "The user lives in {}."),
        (rf"(?i:\bmy name is ){_NAMED}", NAME, "The user is called {}."),
        (rf"(?i:\bich heiße ){_NAMED}", NAME, "The user is called {}."),
        (rf"(?i:\bme llamo ){_NAMED}", NAME, "The user is called {}."),
        (rf"{_SIGNS}(?:で働いてい(?:ます|る)|に勤めてい(?:ます|る))(?!か)", EMPLOYER, "The user works at {}."),
        (rf"{_SIGNS}に(?:住んでい(?:ます|る)|引っ越しました)(?!か)", CITY, "The user lives in {}."),
        (rf"我(?:现在|現在|目前)?在{_SIGNS}(?:工作|上班)(?!吗|嗎)", EMPLOYER, "The user works at {}."),
        (rf"我(?:现在|現在)?(?:住在|搬到了?){_SIGNS}(?:[。,，了]|$)(?!吗|嗎)", CITY, "The user lives in {}."),  # noqa: RUF001
        (rf"我叫{_SIGNS}(?:[。,，]|$)", NAME, "The user is called {}."),  # noqa: RUF001
    )
)
_NOT_A_NAME = frozenset({"I", "A", "The", "My", "It", "This", "Der", "Die", "Das", "El", "La"})


def stated_facts(sentence: str) -> list[tuple[str, str]]:
    """Return the facts that the sentence states about its speaker, each as a topic and a sentence."""
    if asks(sentence):
        return []
    found: dict[str, str] = {}
    for pattern, topic, template in _STATEMENTS:
        match = pattern.search(sentence)
        if match is not None and (name := match.group(1).strip(" .,'")) and name not in _NOT_A_NAME:
            found.setdefault(topic, template.format(name))
    return list(found.items())
