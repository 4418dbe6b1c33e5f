"""Which facts a conversation must not begin without: who the user is, what can hurt them, how they want answers.

A fact is recognised by its topic and, because topics are free and often missing, by the words of its text. The rules
are few and know eight languages. They need not find everything: what they miss is still on the page by its worth.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

WORDS_OF_A_SUBJECT = 6
"""Whom a sentence is about is said by so many of its first words."""
SIGNS_OF_A_SUBJECT = 6
"""The same in writing without spaces."""
_WORD = re.compile(r"[^\W\d_]+")
_FIRST_SIGN_WITHOUT_SPACES = "\u2e80"


class Essential(IntEnum):
    """What a fact tells about the user, the most urgent first within each of the two groups."""

    NAME = 1
    HOME = 2
    WORK = 3
    HOUSEHOLD = 4
    HOME_MORE = 5
    WORK_MORE = 6
    """Anything else that stands under a topic of the home, and of work or studies; that a home is rented or owned."""
    BORN = 7
    """A birthday, an age, pronouns."""
    REACTION = 10
    """An allergy or intolerance of the user, or one of anybody that may kill."""
    REACTION_OF_OTHERS = 11
    CONDITION = 12
    """An illness, a medicine, a pregnancy, what must never be given."""
    CONDITION_OF_OTHERS = 13
    DIET = 14
    DIET_OF_OTHERS = 15
    HEALTH = 16
    """Anything else that stands under a topic of health."""
    MANNER = 20
    """How the user wants to be answered."""


CAN_HURT = (
    Essential.REACTION,
    Essential.REACTION_OF_OTHERS,
    Essential.CONDITION,
    Essential.CONDITION_OF_OTHERS,
)
"""What does harm if it is not known, of anybody, the most dangerous first."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Parts of topic paths. Those that name one thing decide alone; the wide ones only together with the text.
_TOPICS: dict[Essential, frozenset[str]] = {
    Essential.NAME: _set(
        "name full_name fullname first_name nickname identity vorname identität nombre identidad nome "
        "identidade nom prénom identité identità 名前 氏名 姓名 名字 身份"
    ),
    Essential.BORN: _set(
        "birthday birthdate birth_date date_of_birth age pronouns geburtstag geburtsdatum cumpleaños "
        "aniversário anniversaire compleanno 誕生日 生年月日 生日"
    ),
    Essential.HOME: _set(
        "city residence address home_city hometown wohnort adresse stadt ciudad domicilio dirección cidade "
        "endereço morada ville domicile città indirizzo residenza 住所 居住地 住址 城市"
    ),
    Essential.WORK: _set(
        "employer job occupation profession company job_title beruf arbeitgeber profesión empleo empleador "
        "profissão emprego empregador métier emploi employeur professione lavoro 勤務先 職業 职业 雇主 公司"
    ),
    Essential.HOUSEHOLD: _set(
        "spouse husband wife partner children kids household marriage ehemann ehefrau ehepartner kinder "
        "haushalt marido esposa esposo pareja hijos cônjuge filhos conjoint mari femme enfants marito moglie "
        "figli 配偶者 夫 妻 子供 子ども 家庭 丈夫 妻子 孩子"
    ),
    Essential.REACTION: _set(
        "allergy allergies intolerance intolerances allergie allergien unverträglichkeit alergia alergias "
        "intolerancia intolerancias intolerâncias intolérances allergia intolleranze アレルギー 过敏 過敏"
    ),
    Essential.CONDITION: _set(
        "medication medications medicine conditions diagnosis disability pregnancy medikamente medikation "
        "medicación medicamentos medicação médicaments farmaci 薬 药物"
    ),
    Essential.DIET: _set("diet dietary ernährung diät dieta régime 食事制限 饮食"),
    Essential.HEALTH: _set("health medical gesundheit salud saúde santé salute 健康 医療 医疗"),
    Essential.HOME_MORE: _set(
        "home housing house living accommodation wohnen wohnung zuhause hogar vivienda casa moradia maison "
        "logement abitazione alloggio 住まい 住居 家 住房"
    ),
    Essential.WORK_MORE: _set(
        "work career business education studies study school university arbeit studium ausbildung trabajo "
        "carrera estudios trabalho estudos travail études lavori studi 仕事 学業 学校 大学 工作 学习 事业"
    ),
    Essential.MANNER: _set(
        "assistant style communication response_style response_format answer_style assistent stil asistente "
        "estilo assistente assistant_style réponse アシスタント 文体 助手 回答"
    ),
}
_OTHERS_TOPICS = _set("family familie familia família famille famiglia 家族 家人 pets pet haustiere mascotas friends")

# Whole words and beginnings of words. A trailing * marks a beginning; the longest has seven letters.
_REACTION = _set(
    "allerg* alerg* alérg* anaphyl* anafil* epipen intoleran* intoléran* intolle* unvertr* coeliac* celiac* "
    "zöliak* celíac* celiaqu* celíaq* coeliaq* cœliaq* celiac* celiach* lactose laktose lattosio gluten* "
    "urticaria hives nesselsucht"
)
_REACTION_SIGNS = ("アレルギー", "アナフィラキシー", "不耐", "过敏", "過敏", "エピペン", "グルテン")
# What may kill whoever has it, and words of a sentence that says there is nothing of the kind.
_MAY_KILL = _set("anaphyl* anafil* epipen adrenal* lebensbedr*")
_MAY_KILL_SIGNS = ("アナフィラキシー", "エピペン", "过敏性休克", "過敏性休克")
_HARMLESS_FORM = re.compile(
    r"\beats? everything\b|\bno (?:known |food )*(?:allerg|intoler)|\bisst alles\b|\bkeine(?:rlei)? allerg|"
    r"\bcomen? de todo\b|\bsin alergias\b|\bmangent? de tout\b|\bmange de tout\b|\bmangiano? di tutto\b",
    re.IGNORECASE,
)
_DIET = _set("vegetar* vegan* végétar* végan* kosher koscher halal halāl pescat*")
_DIET_SIGNS = (
    "菜食", "ベジタリアン", "ヴィーガン", "食べられない", "食べない", "飲めない", "素食", "吃素", "不吃",
    "不能吃", "不能喝", "清真",
)  # fmt: skip
_CONDITION = _set(
    "diabet* diabèt* asthma* asma "
    "asmát* epilep* épilep* migrain* migrän* migrañ* enxaquec* emicran* hypert* hipert* ipertens* "
    "bluthoch* pregnan* schwang* embaraz* grávid* gravid* enceint* incint* insulin* insulina thyroid* "
    "schildd* tiroid* tireoid* thyroïd* ipotiro* pacemaker* herzschr* marcapas* inhaler* inhalat* "
    "medicat* medikam* medicam* médicam* farmaco farmaci antidepress* blutverd* anticoag* wheelch* "
    "rollstuhl* dialys* dialis* arthrit* artrit* chemo* levothyr* metform* depressi* demenz* dement*"
)
_CONDITION_SIGNS = (
    "糖尿", "喘息", "ぜんそく", "高血圧", "妊娠", "偏頭痛", "てんかん", "服用", "の薬", "薬を飲", "哮喘", "高血压",
    "怀孕", "癫痫", "服药", "胰岛素", "インスリン", "持病", "慢性病",
)  # fmt: skip
# Words that occur in many sentences, with what makes them one of these.
_CONDITION_FORM = re.compile(
    r"\bmust (?:never|not) (?:be given|have|take|get)\b|\bnever (?:be given|give)\b"
    r"|\bis expecting\b.{0,20}\b(?:child|baby|twins|girl|boy)\b"
    r"|\bdarf (?:kein|nie|nicht)\w* .{0,40}\b(?:nehmen|bekommen)\b"
    r"|\bverträgt\b.{0,25}\b(?:kein|nicht)|\bne (?:supporte|doit jamais)\b|\bnon (?:deve mai|tollera)\b"
    r"|\b\d+(?:[.,]\d+)? ?(?:mg|mcg|µg|μg)\b",
    re.IGNORECASE,
)
_CONDITION_HINTS = _set("must never expecting verträgt darf supporte doit deve tollera mg mcg µg μg")
_DIET_FORM = re.compile(
    r"\b(?:does(?: not|n't)|do(?: not|n't)|can(?:not|'t)|never|must (?:never|not)) (?:eat|drink|touch)s?\b"
    r"(?!.{0,9}\b(?:alone|out|late)\b)"
    r"|\beats? (?:no|everything|neither)\b"
    r"|\b(?:isst|trinkt) (?:kein|nie|weder|alles)|\b(?:isst|trinkt)\b.{0,25}\b(?:nicht|nie)\b"
    r"|\bdarf (?:kein|nie|nicht)\w* .{0,40}\b(?:essen|trinken)\b"
    r"|\bno (?:puede |debe )?(?:come|comer|bebe|beber|tomar)\b|\bnão (?:pode |deve )?(?:come|comer|bebe|beber|tomar)\b"
    r"|\bne (?:mange|boit|peut pas manger)\b|\bnon (?:mangia|beve|può mangiare)\b",
    re.IGNORECASE,
)
_DIET_HINTS = _set(
    "eat eats drink drinks touch touches isst trinkt darf come comer bebe beber tomar mange boit manger "
    "mangia beve mangiare"
)

# "The user is Ana Lopez", in capitals: "the user is very tall" names nobody.
_NAME_FORM = re.compile(
    r"^(?:the )?user (?:is called|goes by|prefers to be called)\b"
    r"|^(?:the )?(?:user|my|his|her|their)(?:'s)? (?:full |first |last |real )?name\b"
    r"|^(?:the )?user is (?-i:[^\W\d_a-z][\w'-]+(?: (?:de|da|van|von|del|di))* [^\W\d_a-z][\w'-]+)"
    r"|^(?:der |die )?(?:be)?nutzer(?:in)? heißt\b|^(?:el |la )?usuari[oa] se llama\b"
    r"|^[oa] (?:usuári[oa]|utilizador)\w* (?:se )?chama|^l'utilisat\w+ s'appelle\b|^l'utente si chiama\b",
    re.IGNORECASE,
)
_NAME_SIGNS = ("ユーザーの名前", "本名は", "用户叫", "用户的名字", "用户姓名")
_NAME_HINTS = _set("user name called goes heisst heißt llama chama appelle chiama prefers")
_BORN_FORM = re.compile(
    r"^(?:the )?(?:user|he|she) turns \d+ (?:on|in)\b"
    r"|\b(?:was born (?:on|in)|geboren am|nació el|nasceu em|est née? le|è nat[oa] il)\b"
    r"|\b(?:his|her|their|user's) birthday\b",
    re.IGNORECASE,
)
_BORN_SIGNS = ("生まれ", "出生于")
_BORN_HINTS = _set("turns born birthday geboren nació nasceu née né nata nato")
_HOME_FORM = re.compile(
    r"\b(?:lives?|living|resid\w+|is based|moved|relocated) (?:alone |together |with .{1,25} )?(?:in|to|near|at)\b"
    r"|\b(?:wohnt|wohnen|lebt|leben)\b|\b(?:vive|viven|reside|mora|moram|habite|habitent|vit|abita|abitano|vivono)\b"
    r".{0,20}\b(?:en|em|no|na|à|a|au|in|près)\b",
    re.IGNORECASE,
)
_HOME_SIGNS = ("住んで", "暮らし", "在住", "住在", "居住在", "定居")
_HOUSING_FORM = re.compile(
    r"\b(?:rents?|owns?) (?:a|an|the|their)\b.{0,30}\b(?:flat|apartment|house|home|condo|studio)\b", re.IGNORECASE
)
_HOUSING_HINTS = _set("rent rents own owns")
_HOME_HINTS = _set(
    "live lives living reside resides residing based moved relocated wohnt wohnen "
    "lebt leben vive viven mora moram habite habitent vit abita abitano vivono"
)
_PROFESSIONS = _set(
    "engineer developer programmer teacher nurse doctor physician lawyer designer manager consultant "
    "student professor scientist researcher accountant journalist writer chef cook baker electrician "
    "carpenter plumber mechanic driver pilot architect dentist pharmacist therapist vet veterinarian "
    "librarian analyst founder cofounder cto ceo director officer farmer musician photographer translator "
    "editor surgeon midwife gardener painter retired"
)
_WORK_FORM = re.compile(
    r"\b(?:works?|working|worked since|is employed) (?:full[- ]time |part[- ]time |remotely )?(?:as|at|for)\b"
    rf"|\b(?:is|has been) (?:(?:an?|the|co)\b[ -])?(?:[\w-]+ ){{0,4}}?(?:{'|'.join(sorted(_PROFESSIONS))})\b"
    r"|\b(?:arbeitet|arbeiten) (?:seit \w+ )?(?:als|bei|beim|im|in|für)\b|\bvon beruf\b|\bin rente\b"
    r"|\b(?:trabaja|trabalha|travaille|lavora) (?:como|en|em|para|na|no|chez|comme|à|pour|come|per|in|da|presso|a)\b"
    r"|\best retraité|\bestá jubilad|\bestá aposentad|\bè in pensione",
    re.IGNORECASE,
)
_WORK_SIGNS = ("勤務", "働いて", "勤めて", "として働", "工作", "任职", "上班", "就职")
_WORK_HINTS = _PROFESSIONS | _set(
    "work works working worked employed beruf rente arbeitet arbeiten trabaja trabalha travaille lavora "
    "retraité retraitée jubilado jubilada aposentado aposentada pensione"
)
_HOUSEHOLD = _set(
    "husband wife spouse fiancé fiancée fiance married son sons daughter daughters child children kid "
    "kids twins ehemann ehefrau verheiratet sohn söhne tochter töchter kind kinder zwillinge marido "
    "esposa esposo mujer hijo hija hijos hijas casado casada filho filha filhos filhas mari femme épouse "
    "époux fils fille enfant enfants marié mariée marito moglie figlio figlia figli sposato sposata "
    "boyfriend girlfriend freundin lebensgefährte lebensgefährtin"
)
_HOUSEHOLD_SIGNS = (
    "夫", "妻", "息子", "娘", "子ども", "子供", "結婚", "丈夫", "妻子", "老公", "老婆", "儿子", "女儿", "孩子", "结婚",
)  # fmt: skip
_NOT_HOUSEHOLD_SIGNS = ("大丈夫", "夫人", "工夫", "夫妇")

# Somebody or something else than the user.
_OTHERS = _set(
    "mother father mom mum dad parents brother sister siblings cousin aunt uncle nephew niece grandmother "
    "grandfather grandparents grandson granddaughter friend friends colleague coworker boss neighbour "
    "neighbor roommate ex cat dog dogs cats pet puppy kitten horse rabbit parrot hamster goddaughter "
    "godson in-laws mutter vater eltern bruder schwester geschwister cousine tante onkel neffe nichte oma "
    "opa großmutter großvater enkel enkelin freund kollege kollegin chef chefin nachbar nachbarin katze "
    "kater hund hündin dackel pferd madre padre padres hermano hermana primo prima tía tío abuelo abuela "
    "amigo amiga colega jefe vecino vecina gato gata perro perra mãe pai pais irmão irmã tia tio avó avô "
    "vizinho vizinha cachorro cadela mère père frère sœur soeur parents ami amie collègue voisin voisine "
    "chat chatte chien chienne fratello sorella nonno nonna zio zia amico amica cane"
) | (_HOUSEHOLD - _set("married verheiratet casado casada marié mariée sposato sposata"))
_OTHERS_SIGNS = (
    "母", "父", "兄", "弟", "姉", "妹", "祖", "両親", "友", "同僚", "上司", "猫", "犬",
    "妈", "爸", "哥", "姐", "朋友", "同事", "狗", *_HOUSEHOLD_SIGNS,
)  # fmt: skip
# "His editor is Ines" tells of the editor, "her name is Ines" of the user.
_POSSESSIVES = _set("his her their my seine seiner sein ihre ihr su sus sua seu son sa ses suo")


def essential_of(topic: str | None, text: str) -> Essential | None:
    """Return what a fact tells that a conversation must not begin without; None if it is nothing of the kind."""
    parts = _NOTHING if topic is None else frozenset(topic.casefold().replace(" ", "_").split("/"))
    text = text if text.isascii() else text.replace("\u2019", "'")
    words = _WORD.findall(text.casefold())
    has_signs = not text.isascii() and max(text) >= _FIRST_SIGN_WITHOUT_SPACES
    said = _Said(parts, words, frozenset(word[:_GATE] for word in words), text if has_signs else "", text)
    if not parts.isdisjoint(_TOPICS[Essential.MANNER]):
        return Essential.MANNER
    danger = _danger(said)
    return danger if danger is not None else _person(said)


@dataclass(frozen=True)
class _Said:
    """A fact, taken apart once. ``signs`` is its text if that is written without spaces."""

    parts: frozenset[str]
    words: list[str]
    beginnings: frozenset[str]
    signs: str
    text: str

    def has_topic(self, kind: Essential) -> bool:
        return not self.parts.isdisjoint(_TOPICS[kind])

    def is_about_others(self, topics: frozenset[str]) -> bool:
        subject = self.words[:WORDS_OF_A_SUBJECT]
        if "expecting" in subject:  # of her child it is the mother that is told of
            subject = subject[: subject.index("expecting")]
        if not self.parts.isdisjoint(topics) or not _OTHERS.isdisjoint(subject):
            return True
        return _any(_OTHERS_SIGNS, self.signs[:SIGNS_OF_A_SUBJECT])


class _Words:
    """Whole words and beginnings of words. Most sentences are told to have none of them by a look at their gates."""

    def __init__(self, words: frozenset[str]) -> None:
        self.whole = frozenset(word for word in words if not word.endswith("*"))
        self.starts = frozenset(word[:-1] for word in words if word.endswith("*"))
        self._gates = frozenset(word[:_GATE] for word in self.whole | self.starts)
        self._short = tuple(start for start in self.starts if len(start) < _GATE)

    def are_in(self, said: _Said) -> bool:
        if self._gates.isdisjoint(said.beginnings):
            return False
        return any(word in self.whole or word.startswith(tuple(self.starts)) for word in said.words)


def _danger(said: _Said) -> Essential | None:
    if _is_reaction(said):
        return _reaction_of(said)
    if _is_condition(said):
        return Essential.CONDITION_OF_OTHERS if said.is_about_others(_OTHERS_TOPICS) else Essential.CONDITION
    if _is_diet(said):
        return Essential.DIET_OF_OTHERS if said.is_about_others(_OTHERS_TOPICS) else Essential.DIET
    return Essential.HEALTH if said.has_topic(Essential.HEALTH) else None


def _is_reaction(said: _Said) -> bool:
    found = _REACTION_WORDS.are_in(said) or _any(_REACTION_SIGNS, said.signs) or said.has_topic(Essential.REACTION)
    return found and (_MAY_KILL_WORDS.are_in(said) or not _HARMLESS_FORM.search(said.text))


def _reaction_of(said: _Said) -> Essential:
    if not said.parts.isdisjoint(_TOPICS_OF_OUTSIDERS):
        return Essential.CONDITION_OF_OTHERS
    if _MAY_KILL_WORDS.are_in(said) or _any(_MAY_KILL_SIGNS, said.signs):
        return Essential.REACTION
    return Essential.REACTION_OF_OTHERS if said.is_about_others(_OTHERS_TOPICS) else Essential.REACTION


def _is_condition(said: _Said) -> bool:
    return (
        _CONDITION_WORDS.are_in(said)
        or _any(_CONDITION_SIGNS, said.signs)
        or said.has_topic(Essential.CONDITION)
        or _matches(_CONDITION_HINTS, _CONDITION_FORM, said)
    )


def _is_diet(said: _Said) -> bool:
    return (
        _DIET_WORDS.are_in(said)
        or _any(_DIET_SIGNS, said.signs)
        or said.has_topic(Essential.DIET)
        or _matches(_DIET_HINTS, _DIET_FORM, said)
    )


def _matches(hints: frozenset[str], form: re.Pattern[str], said: _Said) -> bool:
    return not hints.isdisjoint(said.words) and form.search(said.text) is not None


def _person(said: _Said) -> Essential | None:
    for kind in (Essential.NAME, Essential.BORN, Essential.HOME, Essential.WORK, Essential.HOUSEHOLD):
        if said.has_topic(kind):
            return kind
    for kind, hints, form, marks in _FORMS:
        is_said = _matches(hints, form, said) or _any(marks, said.signs)
        if is_said and _is_told_of_the_user(said, kind, hints):
            return kind
    if _is_household(said):
        return Essential.HOUSEHOLD
    return next((kind for kind in (Essential.HOME_MORE, Essential.WORK_MORE) if said.has_topic(kind)), None)


def _is_told_of_the_user(said: _Said, kind: Essential, hints: frozenset[str]) -> bool:
    """Tell whether the sentence says so of the user at its beginning, not of somebody whom it comes to later."""
    if said.signs or kind in (Essential.NAME, Essential.BORN):
        return not said.is_about_others(_TOPICS_OF_OUTSIDERS)
    place = next(place for place, word in enumerate(said.words) if word in hints)
    before = said.words[:place]
    is_of_others = not (_OTHERS.isdisjoint(before) and _TOPICS_OF_OUTSIDERS.isdisjoint(said.parts))
    return place <= WORDS_OF_A_SUBJECT and not is_of_others and _POSSESSIVES.isdisjoint(before[:2])


def _is_household(said: _Said) -> bool:
    # "Son" is French for "his", too.
    first = 1 if said.words[:1] and said.words[0] in _POSSESSIVES else 0
    if not _HOUSEHOLD.isdisjoint(said.words[first:WORDS_OF_A_SUBJECT]):
        return True
    beginning = said.signs[:SIGNS_OF_A_SUBJECT]
    return _any(_HOUSEHOLD_SIGNS, beginning) and not _any(_NOT_HOUSEHOLD_SIGNS, beginning)


def _any(marks: Iterable[str], signs: str) -> bool:
    return bool(signs) and any(mark in signs for mark in marks)


_GATE = 4
_NOTHING: frozenset[str] = frozenset()
_TOPICS_OF_OUTSIDERS = _set("pets pet haustiere mascotas friends colleagues network staff freunde kollegen amigos")
_REACTION_WORDS, _CONDITION_WORDS = _Words(_REACTION), _Words(_CONDITION)
_MAY_KILL_WORDS, _DIET_WORDS = _Words(_MAY_KILL), _Words(_DIET)
_FORMS = (
    (Essential.NAME, _NAME_HINTS, _NAME_FORM, _NAME_SIGNS),
    (Essential.BORN, _BORN_HINTS, _BORN_FORM, _BORN_SIGNS),
    (Essential.HOME, _HOME_HINTS, _HOME_FORM, _HOME_SIGNS),
    (Essential.HOME_MORE, _HOUSING_HINTS, _HOUSING_FORM, ()),
    (Essential.WORK, _WORK_HINTS, _WORK_FORM, _WORK_SIGNS),
)
