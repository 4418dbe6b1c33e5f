"""The words and phrases by which essential facts are recognised, in eight languages.

There are three kinds of cues: words of languages with spaces, parts of text in languages without (``…_UNSPACED``), and
wordings as regular expressions (``…_PATTERN`` with ``…_HINTS``).
"""

import re

from mcp_memory_server.domain.facts.essential_kinds import Essential


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Parts of topic paths. A narrow topic decides alone, a wide one only together with the text.
TOPICS: dict[Essential, frozenset[str]] = {
    Essential.NAME: _words(
        "name full_name fullname first_name nickname identity vorname identität nombre identidad nome "
        "identidade nom prénom identité identità 名前 氏名 姓名 名字 身份"
    ),
    Essential.BORN: _words(
        "birthday birthdate birth_date date_of_birth age pronouns geburtstag geburtsdatum cumpleaños "
        "aniversário anniversaire compleanno 誕生日 生年月日 生日"
    ),
    Essential.HOME: _words(
        "city residence address home_city hometown wohnort adresse stadt ciudad domicilio dirección cidade "
        "endereço morada ville domicile città indirizzo residenza 住所 居住地 住址 城市"
    ),
    Essential.WORK: _words(
        "employer job occupation profession company job_title beruf arbeitgeber profesión empleo empleador "
        "profissão emprego empregador métier emploi employeur professione lavoro 勤務先 職業 职业 雇主 公司"
    ),
    Essential.HOUSEHOLD: _words(
        "spouse husband wife partner children kids household marriage ehemann ehefrau ehepartner kinder "
        "haushalt marido esposa esposo pareja hijos cônjuge filhos conjoint mari femme enfants marito moglie "
        "figli 配偶者 夫 妻 子供 子ども 家庭 丈夫 妻子 孩子"
    ),
    Essential.REACTION: _words(
        "allergy allergies intolerance intolerances allergie allergien unverträglichkeit alergia alergias "
        "intolerancia intolerancias intolerâncias intolérances allergia intolleranze アレルギー 过敏 過敏"
    ),
    Essential.CONDITION: _words(
        "medication medications medicine conditions diagnosis disability pregnancy medikamente medikation "
        "medicación medicamentos medicação médicaments farmaci 薬 药物"
    ),
    Essential.DIET: _words("diet dietary ernährung diät dieta régime 食事制限 饮食"),
    Essential.HEALTH: _words("health medical gesundheit salud saúde santé salute 健康 医療 医疗"),
    Essential.HOME_MORE: _words(
        "home housing house living accommodation wohnen wohnung zuhause hogar vivienda casa moradia maison "
        "logement abitazione alloggio 住まい 住居 家 住房"
    ),
    Essential.WORK_MORE: _words(
        "work career business education studies study school university arbeit studium ausbildung trabajo "
        "carrera estudios trabalho estudos travail études lavori studi 仕事 学業 学校 大学 工作 学习 事业"
    ),
    Essential.MANNER: _words(
        "assistant style communication response_style response_format answer_style assistent stil asistente "
        "estilo assistente assistant_style réponse アシスタント 文体 助手 回答"
    ),
}
OTHER_PEOPLE_TOPICS = _words(
    "family familie familia família famille famiglia 家族 家人 pets pet haustiere mascotas friends"
)

# Whole words, and beginnings of words with a trailing *. The longest beginning has seven letters.
REACTION_WORDS = _words(
    "allerg* alerg* alérg* anaphyl* anafil* epipen intoleran* intoléran* intolle* unvertr* coeliac* celiac* "
    "zöliak* celíac* celiaqu* celíaq* coeliaq* cœliaq* celiac* celiach* lactose laktose lattosio gluten* "
    "urticaria hives nesselsucht"
)
REACTION_UNSPACED = ("アレルギー", "アナフィラキシー", "不耐", "过敏", "過敏", "エピペン", "グルテン")
# Reactions that may be fatal, and the wording of a sentence that denies any reaction.
MAY_KILL_WORDS = _words("anaphyl* anafil* epipen adrenal* lebensbedr*")
MAY_KILL_UNSPACED = ("アナフィラキシー", "エピペン", "过敏性休克", "過敏性休克")
HARMLESS_PATTERN = re.compile(
    r"\beats? everything\b|\bno (?:known |food )*(?:allerg|intoler)|\bisst alles\b|\bkeine(?:rlei)? allerg|"
    r"\bcomen? de todo\b|\bsin alergias\b|\bmangent? de tout\b|\bmange de tout\b|\bmangiano? di tutto\b",
    re.IGNORECASE,
)
DIET_WORDS = _words("vegetar* vegan* végétar* végan* kosher koscher halal halāl pescat*")
DIET_UNSPACED = (
    "菜食", "ベジタリアン", "ヴィーガン", "食べられない", "食べない", "飲めない", "素食", "吃素", "不吃",
    "不能吃", "不能喝", "清真",
)  # fmt: skip
CONDITION_WORDS = _words(
    "diabet* diabèt* asthma* asma "
    "asmát* epilep* épilep* migrain* migrän* migrañ* enxaquec* emicran* hypert* hipert* ipertens* "
    "bluthoch* pregnan* schwang* embaraz* grávid* gravid* enceint* incint* insulin* insulina thyroid* "
    "schildd* tiroid* tireoid* thyroïd* ipotiro* pacemaker* herzschr* marcapas* inhaler* inhalat* "
    "medicat* medikam* medicam* médicam* farmaco farmaci antidepress* blutverd* anticoag* wheelch* "
    "rollstuhl* dialys* dialis* arthrit* artrit* chemo* levothyr* metform* depressi* demenz* dement*"
)
CONDITION_UNSPACED = (
    "糖尿", "喘息", "ぜんそく", "高血圧", "妊娠", "偏頭痛", "てんかん", "服用", "の薬", "薬を飲", "哮喘", "高血压",
    "怀孕", "癫痫", "服药", "胰岛素", "インスリン", "持病", "慢性病",
)  # fmt: skip
# Wordings around common words. The hints are words that every match contains: without one, the pattern is not tried.
CONDITION_PATTERN = re.compile(
    r"\bmust (?:never|not) (?:be given|have|take|get)\b|\bnever (?:be given|give)\b"
    r"|\bis expecting\b.{0,20}\b(?:child|baby|twins|girl|boy)\b"
    r"|\bdarf (?:kein|nie|nicht)\w* .{0,40}\b(?:nehmen|bekommen)\b"
    r"|\bverträgt\b.{0,25}\b(?:kein|nicht)|\bne (?:supporte|doit jamais)\b|\bnon (?:deve mai|tollera)\b"
    r"|\b\d+(?:[.,]\d+)? ?(?:mg|mcg|µg|μg)\b",
    re.IGNORECASE,
)
CONDITION_HINTS = _words("must never expecting verträgt darf supporte doit deve tollera mg mcg µg μg")
DIET_PATTERN = re.compile(
    r"\b(?:does(?: not|n't)|do(?: not|n't)|can(?:not|'t)|never|must (?:never|not)) (?:eat|drink|touch)s?\b"
    r"(?!.{0,9}\b(?:alone|out|late)\b)"
    r"|\beats? (?:no|everything|neither)\b"
    r"|\b(?:isst|trinkt) (?:kein|nie|weder|alles)|\b(?:isst|trinkt)\b.{0,25}\b(?:nicht|nie)\b"
    r"|\bdarf (?:kein|nie|nicht)\w* .{0,40}\b(?:essen|trinken)\b"
    r"|\bno (?:puede |debe )?(?:come|comer|bebe|beber|tomar)\b|\bnão (?:pode |deve )?(?:come|comer|bebe|beber|tomar)\b"
    r"|\bne (?:mange|boit|peut pas manger)\b|\bnon (?:mangia|beve|può mangiare)\b",
    re.IGNORECASE,
)
DIET_HINTS = _words(
    "eat eats drink drinks touch touches isst trinkt darf come comer bebe beber tomar mange boit manger "
    "mangia beve mangiare"
)

# "The user is Ana Lopez" needs the capitals: "the user is very tall" gives no name.
NAME_PATTERN = re.compile(
    r"^(?:the )?user (?:is called|goes by|prefers to be called)\b"
    r"|^(?:the )?(?:user|my|his|her|their)(?:'s)? (?:full |first |last |real )?name\b"
    r"|^(?:the )?user is (?-i:[^\W\d_a-z][\w'-]+(?: (?:de|da|van|von|del|di))* [^\W\d_a-z][\w'-]+)"
    r"|^(?:der |die )?(?:be)?nutzer(?:in)? heißt\b|^(?:el |la )?usuari[oa] se llama\b"
    r"|^[oa] (?:usuári[oa]|utilizador)\w* (?:se )?chama|^l'utilisat\w+ s'appelle\b|^l'utente si chiama\b",
    re.IGNORECASE,
)
NAME_UNSPACED = ("ユーザーの名前", "本名は", "用户叫", "用户的名字", "用户姓名")
NAME_HINTS = _words("user name called goes heisst heißt llama chama appelle chiama prefers")
BORN_PATTERN = re.compile(
    r"^(?:the )?(?:user|he|she) turns \d+ (?:on|in)\b"
    r"|\b(?:was born (?:on|in)|geboren am|nació el|nasceu em|est née? le|è nat[oa] il)\b"
    r"|\b(?:his|her|their|user's) birthday\b",
    re.IGNORECASE,
)
BORN_UNSPACED = ("生まれ", "出生于")
BORN_HINTS = _words("turns born birthday geboren nació nasceu née né nata nato")
HOME_PATTERN = re.compile(
    r"\b(?:lives?|living|resid\w+|is based|moved|relocated) (?:alone |together |with .{1,25} )?(?:in|to|near|at)\b"
    r"|\b(?:wohnt|wohnen|lebt|leben)\b|\b(?:vive|viven|reside|mora|moram|habite|habitent|vit|abita|abitano|vivono)\b"
    r".{0,20}\b(?:en|em|no|na|à|a|au|in|près)\b",
    re.IGNORECASE,
)
HOME_UNSPACED = ("住んで", "暮らし", "在住", "住在", "居住在", "定居")
HOUSING_PATTERN = re.compile(
    r"\b(?:rents?|owns?) (?:a|an|the|their)\b.{0,30}\b(?:flat|apartment|house|home|condo|studio)\b", re.IGNORECASE
)
HOUSING_HINTS = _words("rent rents own owns")
HOME_HINTS = _words(
    "live lives living reside resides residing based moved relocated wohnt wohnen "
    "lebt leben vive viven mora moram habite habitent vit abita abitano vivono"
)
PROFESSIONS = _words(
    "engineer developer programmer teacher nurse doctor physician lawyer designer manager consultant "
    "student professor scientist researcher accountant journalist writer chef cook baker electrician "
    "carpenter plumber mechanic driver pilot architect dentist pharmacist therapist vet veterinarian "
    "librarian analyst founder cofounder cto ceo director officer farmer musician photographer translator "
    "editor surgeon midwife gardener painter retired"
)
WORK_PATTERN = re.compile(
    r"\b(?:works?|working|worked since|is employed) (?:full[- ]time |part[- ]time |remotely )?(?:as|at|for)\b"
    rf"|\b(?:is|has been) (?:(?:an?|the|co)\b[ -])?(?:[\w-]+ ){{0,4}}?(?:{'|'.join(sorted(PROFESSIONS))})\b"
    r"|\b(?:arbeitet|arbeiten) (?:seit \w+ )?(?:als|bei|beim|im|in|für)\b|\bvon beruf\b|\bin rente\b"
    r"|\b(?:trabaja|trabalha|travaille|lavora) (?:como|en|em|para|na|no|chez|comme|à|pour|come|per|in|da|presso|a)\b"
    r"|\best retraité|\bestá jubilad|\bestá aposentad|\bè in pensione",
    re.IGNORECASE,
)
WORK_UNSPACED = ("勤務", "働いて", "勤めて", "として働", "工作", "任职", "上班", "就职")
WORK_HINTS = PROFESSIONS | _words(
    "work works working worked employed beruf rente arbeitet arbeiten trabaja trabalha travaille lavora "
    "retraité retraitée jubilado jubilada aposentado aposentada pensione"
)
HOUSEHOLD_WORDS = _words(
    "husband wife spouse fiancé fiancée fiance married son sons daughter daughters child children kid "
    "kids twins ehemann ehefrau verheiratet sohn söhne tochter töchter kind kinder zwillinge marido "
    "esposa esposo mujer hijo hija hijos hijas casado casada filho filha filhos filhas mari femme épouse "
    "époux fils fille enfant enfants marié mariée marito moglie figlio figlia figli sposato sposata "
    "boyfriend girlfriend freundin lebensgefährte lebensgefährtin"
)
HOUSEHOLD_UNSPACED = (
    "夫", "妻", "息子", "娘", "子ども", "子供", "結婚", "丈夫", "妻子", "老公", "老婆", "儿子", "女儿", "孩子", "结婚",
)  # fmt: skip
NOT_HOUSEHOLD_UNSPACED = ("大丈夫", "夫人", "工夫", "夫妇")

# People and animals other than the user.
OTHER_PEOPLE_WORDS = _words(
    "mother father mom mum dad parents brother sister siblings cousin aunt uncle nephew niece grandmother "
    "grandfather grandparents grandson granddaughter friend friends colleague coworker boss neighbour "
    "neighbor roommate ex cat dog dogs cats pet puppy kitten horse rabbit parrot hamster goddaughter "
    "godson in-laws mutter vater eltern bruder schwester geschwister cousine tante onkel neffe nichte oma "
    "opa großmutter großvater enkel enkelin freund kollege kollegin chef chefin nachbar nachbarin katze "
    "kater hund hündin dackel pferd madre padre padres hermano hermana primo prima tía tío abuelo abuela "
    "amigo amiga colega jefe vecino vecina gato gata perro perra mãe pai pais irmão irmã tia tio avó avô "
    "vizinho vizinha cachorro cadela mère père frère sœur soeur parents ami amie collègue voisin voisine "
    "chat chatte chien chienne fratello sorella nonno nonna zio zia amico amica cane"
) | (HOUSEHOLD_WORDS - _words("married verheiratet casado casada marié mariée sposato sposata"))
OTHER_PEOPLE_UNSPACED = (
    "母", "父", "兄", "弟", "姉", "妹", "祖", "両親", "友", "同僚", "上司", "猫", "犬",
    "妈", "爸", "哥", "姐", "朋友", "同事", "狗", *HOUSEHOLD_UNSPACED,
)  # fmt: skip
# "His editor is Ines" is about the editor, "her name is Ines" about the user.
POSSESSIVES = _words("his her their my seine seiner sein ihre ihr su sus sua seu son sa ses suo")
OUTSIDER_TOPICS = _words("pets pet haustiere mascotas friends colleagues network staff freunde kollegen amigos")
