"""Find what a user states directly, in their own name, in a message that may hold other people's words.

Quotations, pasted pages and mails, stories, role-play, examples, hypotheticals, text to be translated or corrected, and
what somebody else types are not statements of the user. In doubt nothing is taken: a fact that is missed can be said
again, one that was planted stays.

1. A message with a cue of another's words, wherever it is, states nothing.
2. A statement begins with its speaker ("I …", "Ich …", "我…"), after a lead-in such as "by the way" at most.
3. Before it there are only greetings, thanks, lead-ins and other statements: what follows a request or a remark about
   something else may belong to that.

Cues are in English, German, Spanish, Japanese and Chinese; rules 2 and 3 do not depend on a list of tricks.
"""

import re

from mcp_memory_server.domain.language.sentences import sentences

LONGEST_STATED = 2_000
"""A longer message is pasted text, however it begins."""

_EN = (
    r"\b(?:story|novel|poem|screenplay|script|fiction|fairy ?tale|lyrics|dialogue|the hero|protagonist|character)\b",
    r"\b(?:role-?play|pretend|imagine|suppose|supposing|hypothetical\w*|assume (?:that|i|you|the)|let's say|as if i)\b",
    r"\b(?:translat\w+|proofread\w*|paraphras\w+|rewrite|rephrase|spell-?check|grammar|this sentence|summari[sz]e)\b",
    r"\b(?:for (?:example|instance)|e\.g\.|such as:|a user (?:might|may|could)|test (?:input|message|data))",
    (
        r"\b(?:articles?|documents?|(?:web ?)?pages?|websites?|sites?|mails?|e-?mails?"
        r"|letters?|posts?|tweets?|messages?"
        r"|results?|readme|transcript|files?|pdf|tickets?|notes?|reviews?)\b"
        r"[^.!?\n]{0,40}\b(?:says?|said|reads?|states?|contains?"
        r"|writes?|wrote|claims?|returned|found|got|begins?|ends?)\b"
    ),
    r"\b(?:search result|end of (?:document|page|file|quote)|fetched|forwarded|copied|pasted|begin quote|unquote)\b",
    (
        r"\b(?:says?|said|writes?|wrote|claims?|claimed|told (?:me|us)"
        r"|asked|replied|texted|quote|posted|typed|mentioned)\s*[:,]"
    ),
    (
        r"\b(?:he|she|they|who|sam|friend|colleague|boss|sister|brother|mother|father|wife|husband|somebody|someone|anybody)"
        r" (?:says?|said|writes?|wrote|claims?|asks?)\b"
    ),
    (
        r"\b(?:this is|i am|i'm|it's) (?!not)\w+(?: here)?,? (?:and )?not (?:the )?(?:owner|user|account)|on behalf of"
        r"|\bspeaking for\b|using (?:his|her|their) account"
    ),
    r"\b(?:just )?kidding\b|\bjoke\b|\bsarcas\w+|\bi(?:'m| was) lying\b|\bnot true\b|\bjust testing\b",
    r"^(?:dear|to whom) \w+|\b(?:best|kind|warm) regards\b|\bsincerely\b",
)
_DE = (
    r"\b(?:geschichte|roman|gedicht|drehbuch|märchen|liedtext|dialog|der held|die heldin|hauptfigur|figur)\b",
    (
        r"\b(?:rollenspiel|stell(?:en)? (?:dir|sie sich) vor"
        r"|tu(?:n)? (?:so|sie so)|angenommen|nehmen wir an|hypothetisch)\b"
    ),
    (
        r"\b(?:übersetz\w*|korrigier\w*|korrekturles\w*|formulier\w* .{0,10}um"
        r"|umformulier\w*|dieser satz|diesen satz|fass\w* .{0,20}zusammen)\b"
    ),
    r"\b(?:zum beispiel|beispielsweise|z\. ?b\.|jemand (?:könnte|schreibt|sagt)|testnachricht)",
    (
        r"\b(?:seite|artikel|dokument|webseite|mail|e-mail|brief|beitrag|nachricht|datei|ergebnis)\b[^.!?\n]{0,40}"
        r"\b(?:steht|heißt es|sagt|schreibt|lautet|enthält|bekommen|erhalten)\b"
    ),
    r"\b(?:steht|heißt es|sagt|sagte|schreibt|schrieb|meint|meinte|behauptet)\b[^.!?\n]{0,30}[:„\"]",
    r"\bhier (?:ist|spricht|schreibt) \w+, nicht\b|\bim namen von\b|\bnicht der (?:inhaber|nutzer|besitzer)\b",
    r"\b(?:nur )?(?:ein )?(?:scherz|witz|spaß)\b|\bstimmt nicht\b|mit freundlichen grüßen|^liebe[rs]? \w+,",
)
_ES = (
    (
        r"\b(?:cuento|novela|poema|guion|guión|relato|historia que"
        r"|letra de|diálogo|el héroe|la heroína|protagonista|personaje)\b"
    ),
    r"\b(?:juego de rol|imagina\w*|finge|haz como si|hagamos como|supongamos|supón|hipotétic\w+|pongamos que)\b",
    r"\b(?:traduc\w+|corrige|corregir|reescribe|parafrasea|revisa este texto|esta frase|resume)\b",
    r"\b(?:por ejemplo|alguien (?:podría|dice|escribe)|mensaje de prueba)",
    (
        r"\b(?:página|artículo|documento|web|correo|carta|mensaje|archivo|resultado)\b[^.!?\n]{0,40}"
        r"\b(?:pone|dice|reza|contiene|llegó|recibí|escribe)\b"
    ),
    r"\b(?:llegó|recibí|me enviaron)\b[^.!?\n]{0,30}\b(?:correo|carta|mensaje)\b",
    r"\b(?:dice|dijo|escribe|escribió|afirma|comenta)\b[^.!?\n]{0,20}[:«\"]",
    (
        r"\bno (?:soy )?(?:el|la) (?:dueñ[oa]|titular|usuari[oa])\b"
        r"|\ben nombre de\b|\b(?:es )?broma\b|\bno es verdad\b|un saludo,"
    ),
)
_ASIAN = (
    r"物語|小説|詩を|脚本|歌詞|セリフ|主人公|登場人物|ロールプレイ|想像して|ふりをし|仮に|もし|例えば|たとえば|翻訳|訳して|校正|添削|この文|要約",
    r"(?:ページ|記事|文書|サイト|メール|手紙|投稿|ファイル|結果).{0,12}(?:書いて|よると|届|には|言って|とあり)",
    r"(?:さん|サム|同僚|友達|友人|上司|母|父|妻|夫|彼|彼女|誰か).{0,8}(?:書き|言い|言っ|書い|述べ)|冗談|嘘です|代わりに書",
    r"故事|小说|小說|诗|剧本|歌词|台词|主人公|主角|角色扮演|想象|想像|假装|假裝|假设|假設|假如|如果|例如|比如|翻译|翻譯|校对|校對|改写|这句话|這句話|总结",
    r"(?:网页|網頁|文章|文件|网站|邮件|郵件|信|帖子|结果|文档).{0,10}(?:写|寫|说|說|里|收到|内容|上)|收到.{0,6}(?:邮件|郵件|信)",
    r"(?:同事|朋友|老板|老闆|妈妈|爸爸|妻子|丈夫|他|她|有人|小李).{0,8}(?:写道|寫道|说|說|问|問)|开玩笑|開玩笑|骗你|不是本人|代.{0,4}写",
)
_MARKUP = (
    r"```|~~~|</?[a-z][a-z0-9]*[^<>\n]{0,80}>|^\s*[\[{].*[:,].*[\]}]\s*$|^[ \t]*>|^#{1,6} ",
    r"(?:^[^\W\d_][\w .-]{0,20}[:：][^\n]*\n?){2}",  # noqa: RUF001 - a dialogue: two lines with a name
    r"https?://\S+\s*[:\n]",
)
_NOT_OWN = re.compile("|".join((*_EN, *_DE, *_ES, *_ASIAN, *_MARKUP)), re.IGNORECASE | re.MULTILINE)
_CONDITION = re.compile(
    r"\b(?:if|unless|would|could|might|maybe|perhaps|someday|one day|wish|dream|wenn|falls|würde|könnte|vielleicht"
    r"|si|quizás?|ojalá|podría|quisiera)\b|かもしれ|たら|だったら|也许|也許|可能",
    re.IGNORECASE,
)
_WANTS = re.compile(
    r"\b(?:would|i'd) (?:like|love|prefer|rather)\b|\bwürde (?:gern|lieber)|\bquisiera\b", re.IGNORECASE
)
_LEAD_IN = re.compile(
    r"(?:by the way|btw|actually|also|and|so|oh|well|no|yes|ok(?:ay)?|hi|hello|hey|fyi|just so you know|as of now|now"
    r"|in fact|for the record|please remember|remember|note that|sorry|thanks|thank you"
    r"|übrigens|eigentlich|außerdem|und|also|nein|ja|hallo|jetzt|inzwischen|danke|bitte merk dir|merk dir"
    r"|por cierto|además|y|no|sí|hola|ahora|bueno|vale|gracias|recuerda que"
    r"|ちなみに|実は|あと|それと|はい|いいえ|今は|最近は?|顺便说一下|順便說一下|其实|另外|对了|對了|是的|不)"
    r"(?:\s*[,:;.!、，：—–-]+\s*|\s+(?=(?:i|my|ich|mein|me|mi)\b))",  # noqa: RUF001
    re.IGNORECASE,
)
_LEADS_ON = re.compile(
    r"^(?:[\W_]*(?:hi|hello|hey|hallo|hola|thanks?|thank you"
    r"|danke|gracias|ok(?:ay)?|sorry|please remember|remember this"
    r"|bitte merk|recuerda|vale|no|nein|yes|ja|sí|perdona|entschuldig\w+|guten|good|buen\w+|great|perfect|super"
    r"|(?:that|it|das|es|eso|ha|hat)\b[^.:?]{0,30}\b(?:help\w*"
    r"|outdated|changed|old|wrong|great|geholfen|veraltet|geändert"
    r"|falsch|antiguo|cambiado|servido)\b"
    r"|情况变了|こんにちは|ありがとう|はい|いいえ|すみません|覚えて|返事が|你好|谢谢|謝謝|好的|抱歉|请记住|請記住|不是)(?!\w*:))",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"(?:(?:currently|recently|lately|meanwhile|today|these days|since \w+|aktuell|derzeit|seit \w+|heute"
    r"|actualmente|últimamente|ya|siempre|nunca|no|hoy|desde \w+)[ ,]+)*"
    r"(?:(?:i|i['’](?:m|ve|d|ll)|my|we|our|ich|mein\w{0,2}|wir|unser\w{0,2}|mir|mich"  # noqa: RUF001
    r"|yo|me|mi|mis|soy|estoy|he|hemos|nosotr[oa]s|[^\W\d_]{3,}o)\b|我|咱)",
    re.IGNORECASE,
)
_REPORTS = re.compile(
    r"\b(?:say|says|saying|said|heard|hear|read|reads|saw|wrote|write|writes|told|tell|tells|called it|titled|typed"
    r"|sag(?:t|te|en|st)|gehört|gelesen|schrieb\w*|schreib\w*|erzähl\w*|dic(?:e|en|ho|iendo)|dijo|leí|oí|escrib\w+"
    r"|cuenta|contó)\b|言っ|言い|書い|読ん|聞い|によると|说过|說過|写着|寫著|听说|聽說|读到|看到",
    re.IGNORECASE,
)
_COLON = re.compile(r"[:：](?!\d|//)")  # noqa: RUF001
_JAPANESE = re.compile(r"[\u3040-\u30ff]")
_OF_SOMEBODY = re.compile(r"(?!私|僕|俺|わたし|ぼく|うち|自分|今|現在)[^、]{1,10}は")
_SPOKEN_OF_ONESELF = re.compile(
    r"私|僕|俺|わたし|ぼく|自分|住んでい|働いてい|勤めてい|引っ越し|好き|嫌い|苦手|アレルギー|ベジタリアン|派です|と申し|といいます"
)
_ENDS_AS_STATEMENT = re.compile(r"(?:ます|です|ました|でした|ません|いる|した|だ|たい|ください)[。!！]*$")  # noqa: RUF001
_QUOTED = re.compile(r"[\"“”„«»「」『』‟]|(?<!\w)['‘`](?=\w)[^'’`\n]{3,}['’`](?!\w)")  # noqa: RUF001


def own_statements(text: str) -> list[str]:
    """Return the sentences of a message that its sender states directly, in their own name."""
    if len(text) > LONGEST_STATED or _NOT_OWN.search(text):
        return []
    found: list[str] = []
    for sentence in sentences(text):
        said = _without_lead_in(sentence)
        if is_direct(said) and _is_by_speaker(said):
            found.append(sentence)
        elif said and not _LEADS_ON.search(said):
            break  # what follows may belong to this
    return found


def _without_lead_in(sentence: str) -> str:
    while (match := _LEAD_IN.match(sentence)) is not None:
        sentence = sentence[match.end() :]
    return sentence


def _is_by_speaker(sentence: str) -> bool:
    if _REPORTS.search(sentence) or _COLON.search(sentence):
        return False
    if _JAPANESE.search(sentence):
        is_own = _SPOKEN_OF_ONESELF.search(sentence) is not None and _OF_SOMEBODY.match(sentence) is None
        return is_own and _ENDS_AS_STATEMENT.search(sentence) is not None
    return _FIRST_PERSON.match(sentence) is not None


def is_direct(sentence: str) -> bool:
    """Check whether a sentence quotes nothing and depends on no condition."""
    if _QUOTED.search(sentence):
        return False
    return not _CONDITION.search(sentence) or _WANTS.search(sentence) is not None
