# ruff: noqa: RUF001 - punctuation of other scripts
"""Turns of users in five languages: honest statements, and statements that are not the user's own.

Each is a frame with a statement in it. ``python -m tests.domain.summaries.learning_turns`` prints how much is learned
from each kind.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.domain.summaries.extracts import extract
from mcp_memory_server.domain.summaries.material import material_from
from tests.domain.samples import NOON


@dataclass(frozen=True)
class Said:
    """What somebody wrote in the place of the user, and the word that shows that it was learned."""

    language: str
    kind: str
    text: str
    marker: str
    speaker: str | None = None


_STATEMENTS = {
    "en": (
        ("I work at Norwick.", "Norwick"),
        ("I live in Tarvale.", "Tarvale"),
        ("My name is Quillon.", "Quillon"),
        ("I moved to Ostrava.", "Ostrava"),
        ("I prefer aisle seats.", "aisle seats"),
    ),
    "de": (
        ("Ich arbeite bei Nordwick.", "Nordwick"),
        ("Ich wohne in Tarvale.", "Tarvale"),
        ("Ich heiße Quillon.", "Quillon"),
        ("Ich lebe in Ostrava.", "Ostrava"),
        ("Ich bevorzuge Gangplätze.", "Gangplätze"),
    ),
    "es": (
        ("Trabajo en Norvic.", "Norvic"),
        ("Vivo en Tarvale.", "Tarvale"),
        ("Me llamo Quillon.", "Quillon"),
        ("Me mudé a Ostrava.", "Ostrava"),
        ("Prefiero asientos de pasillo.", "pasillo"),
    ),
    "ja": (
        ("私はノルウィックで働いています。", "ノルウィック"),
        ("私はタルベールに住んでいます。", "タルベール"),
        ("オストラバに引っ越しました。", "オストラバ"),
        ("私はナガレ社に勤めています。", "ナガレ社"),
        ("窓側の席が好きです。", "窓側"),
    ),
    "zh": (
        ("我在诺维克工作。", "诺维克"),
        ("我住在塔维尔。", "塔维尔"),
        ("我叫魁隆。", "魁隆"),
        ("我现在在星河公司上班。", "星河公司"),
        ("我喜欢靠窗的座位。", "靠窗"),
    ),
}

_HONEST = {
    "en": (
        "{}",
        "Hi! {}",
        "{} Can you find me a dentist?",
        "By the way: {}",
        "Thanks, that helped. {}",
        "{} That is why I ask.",
        "Just so you know, it has changed. {}",
        "Please remember this. {}",
        "OK.\n{}",
        "{} So which train is best?",
        "A question about trains. {} What would you take?",
        "I looked at your list, thanks. {}",
    ),
    "de": (
        "{}",
        "Hallo! {}",
        "{} Findest du einen Zahnarzt für mich?",
        "Übrigens: {}",
        "Danke, das hat geholfen. {}",
        "{} Darum frage ich.",
        "Nur zur Information, das hat sich geändert. {}",
        "Bitte merk dir das. {}",
        "OK.\n{}",
        "{} Welcher Zug ist am besten?",
        "Eine Frage zu Zügen. {} Was würdest du nehmen?",
        "Ich habe deine Liste angesehen, danke. {}",
    ),
    "es": (
        "{}",
        "¡Hola! {}",
        "{} ¿Me buscas un dentista?",
        "Por cierto: {}",
        "Gracias, me ha servido. {}",
        "{} Por eso pregunto.",
        "Para que lo sepas, ha cambiado. {}",
        "Recuerda esto, por favor. {}",
        "Vale.\n{}",
        "{} ¿Qué tren es mejor?",
        "Una pregunta sobre trenes. {} ¿Cuál tomarías?",
        "He mirado tu lista, gracias. {}",
    ),
    "ja": (
        "{}",
        "こんにちは。{}",
        "{}歯医者を探してもらえますか？",
        "ちなみに、{}",
        "ありがとう、助かりました。{}",
        "{}だから聞いています。",
        "お知らせですが、変わりました。{}",
        "覚えておいてください。{}",
        "はい。\n{}",
        "{}どの電車が一番いいですか？",
        "電車について質問です。{}どれがいいですか？",
        "リストを見ました。{}",
    ),
    "zh": (
        "{}",
        "你好！{}",
        "{}能帮我找个牙医吗？",
        "顺便说一下，{}",
        "谢谢，很有帮助。{}",
        "{}所以我才问。",
        "跟你说一声，情况变了。{}",
        "请记住这个。{}",
        "好的。\n{}",
        "{}哪趟火车最好？",
        "关于火车的问题。{}你会选哪个？",
        "我看了你的清单，谢谢。{}",
    ),
}

_NOT_OWN = {
    "en": (
        'A page says: "{}"',
        "The article I found reads: {}",
        "Write a story that begins: {}",
        "Imagine I told you this: {}",
        "Let's role-play. You ask, I answer: {}",
        "Translate into German: {}",
        "My colleague Sam wrote: {}",
        "Is this sentence correct? «{}»",
        "Here is the mail that I got:\n\n> {}\n\nWhat should I answer?",
        "Proofread this for me: {}",
        "Pretend to be Ana, who says {}",
        "Suppose somebody says: {} What would you reply?",
        "```\n{}\n```\nWhy does this not parse?",
        "<html><body><p>{}</p></body></html> is what the site returned.",
        "Search result 1: {} Search result 2: nothing.",
        "Sam: {}\nAna: Really?\nSam: Yes.",
        "This is Sam, not the owner of this account. {}",
        "In the novel the hero says {}",
        "Dear team,\n{}\nBest regards,\nSam",
        "For example, a user might type: {}",
        "That is what the fetched document contains. {} End of document.",
        "Joke: {} Just kidding!",
        "If anybody asks, say: {}",
    ),
    "de": (
        'Auf einer Seite steht: "{}"',
        "Im Artikel heißt es: {}",
        "Schreib eine Geschichte, die so beginnt: {}",
        "Stell dir vor, ich sage: {}",
        "Lass uns ein Rollenspiel machen: {}",
        "Übersetze ins Englische: {}",
        "Mein Kollege Sam schrieb: {}",
        "Ist dieser Satz richtig? „{}“",
        "Diese Mail habe ich bekommen:\n\n> {}\n\nWas antworte ich?",
        "Korrigiere diesen Text: {}",
        "Tu so, als wärst du Ana und sagst: {}",
        "Angenommen, jemand sagt: {} Was antwortest du?",
        "Zum Beispiel könnte jemand schreiben: {}",
        "Hier ist Sam, nicht der Inhaber. {}",
        "Im Roman sagt der Held: {}",
    ),
    "es": (
        'En una página pone: "{}"',
        "El artículo dice: {}",
        "Escribe un cuento que empiece así: {}",
        "Imagina que te digo: {}",
        "Hagamos un juego de rol: {}",
        "Traduce al inglés: {}",
        "Mi compañero Sam escribió: {}",
        "¿Es correcta esta frase? «{}»",
        "Me llegó este correo:\n\n> {}\n\n¿Qué contesto?",
        "Corrige este texto: {}",
        "Haz como si fueras Ana y dijeras: {}",
        "Supongamos que alguien dice: {} ¿Qué respondes?",
        "Por ejemplo, alguien podría escribir: {}",
        "Soy Sam, no el dueño de la cuenta. {}",
        "En la novela, el héroe dice: {}",
    ),
    "ja": (
        "ページに「{}」と書いてあります。",
        "記事によると、{}",
        "次の文で始まる物語を書いてください。{}",
        "私がこう言ったと想像してください。{}",
        "ロールプレイをしましょう。{}",
        "英語に翻訳してください。{}",
        "同僚のサムがこう書きました。{}",
        "この文は正しいですか。『{}』",
        "こんなメールが届きました。\n\n> {}\n\n何と返事しますか。",
        "この文章を校正してください。{}",
        "アナのふりをして言ってください。{}",
        "例えば、誰かがこう書くかもしれません。{}",
        "小説の主人公が言います。{}",
        "仮に誰かがこう言ったら、どう答えますか。{}",
    ),
    "zh": (
        "网页上写着:“{}”",
        "文章里说:{}",
        "写一个这样开头的故事:{}",
        "想象一下我说:{}",
        "我们来角色扮演:{}",
        "翻译成英语:{}",
        "我的同事小李写道:{}",
        "这句话对吗?「{}」",
        "我收到了这封邮件:\n\n> {}\n\n怎么回?",
        "请校对这段文字:{}",
        "假装你是安娜,说:{}",
        "假设有人说:{}你怎么回答?",
        "例如,用户可能会输入:{}",
        "小说里主人公说:{}",
    ),
}
# Written after the first rules, which were then changed by what failed here: the rates on these say little more.
_LATER_NOT_OWN = {
    "en": (
        "Finish this limerick for me. {}",
        "What would a spy answer? {}",
        "My neighbour keeps telling everybody: {}",
        "Give me a French version of: {}",
        "The poster at the station had this on it. {}",
        "Line 14 of the log is {}",
        "Is it rude to begin a conversation with {}",
        "Our onboarding form has the default text: {}",
        "I heard a man on the train say {}",
        "Which tense is used here: {}",
    ),
    "de": (
        "Wie klingt das auf Französisch: {}",
        "Mein Nachbar erzählt allen: {}",
        "Auf dem Plakat am Bahnhof stand: {}",
        "Dichte mir etwas, das so anfängt: {}",
        "In Zeile 14 des Protokolls: {}",
    ),
    "es": (
        "¿Cómo se dice en francés? {}",
        "Mi vecina le cuenta a todos: {}",
        "En el cartel de la estación ponía: {}",
        "Termina este chiste: {}",
        "La línea 14 del registro es {}",
    ),
    "ja": ("フランス語で何と言いますか。{}", "駅のポスターにありました。{}", "隣の人がいつも言います。{}"),
    "zh": ("法语怎么说:{}", "车站的海报上有这句:{}", "邻居总是跟大家说:{}"),
}
_LATER_HONEST = {
    "en": (
        "Sorry for the late answer, I was away. {}",
        "Before we begin, some background. {} My budget is 300 euros.",
        "No, that is outdated. {}",
        "Could you book a table for tonight? {}",
        "My wife and I need a plan for Sunday. {}",
        "If it rains we stay at home. {}",
    ),
    "de": (
        "Entschuldige die späte Antwort. {}",
        "Nein, das ist veraltet. {}",
        "Meine Frau und ich planen den Sonntag. {}",
    ),
    "es": ("Perdona que conteste tarde. {}", "No, eso es antiguo. {}", "Mi mujer y yo planeamos el domingo. {}"),
    "ja": ("返事が遅くなってすみません。{}", "妻と日曜日の予定を考えています。{}"),
    "zh": ("抱歉回复晚了。{}", "我和妻子在安排周日。{}"),
}
_GUESTS = ("Sam (guest)", "researcher", "Mia", "browser-agent")


def honest(*, later: bool = False) -> Iterator[Said]:
    """Yield turns in which the user states something."""
    for language, frames in (_LATER_HONEST if later else _HONEST).items():
        for frame in frames:
            for statement, marker in _STATEMENTS[language]:
                yield Said(language, frame, frame.format(statement), marker)


def adversarial(*, later: bool = False) -> Iterator[Said]:
    """Yield turns under the role of the user that state nothing of the user's own."""
    for language, frames in (_LATER_NOT_OWN if later else _NOT_OWN).items():
        for frame in frames:
            for statement, marker in _STATEMENTS[language]:
                yield Said(language, frame, frame.format(statement), marker)
        for speaker, (statement, marker) in zip(_GUESTS, _STATEMENTS[language], strict=False):
            yield Said(language, "another speaker", statement, marker, speaker)


def is_learned(said: Said) -> bool:
    """Check whether something is learned from a conversation with this turn."""
    turn = Turn(ulid_after(None, NOON), Role.USER, said.text, speaker=said.speaker)
    draft = extract(material_from([turn], None, ()))
    return any(said.marker in lesson.text for lesson in draft.lessons)


def share(turns: list[Said], does: Callable[[Said], bool]) -> float:
    """Return for how many of the turns that is true."""
    return sum(map(does, turns)) / len(turns)


def main() -> None:
    """Print how much is learned, and what should not be or should have been."""
    for later in (False, True):
        print("written later:" if later else "written with the rules:")
        _print_rates(list(honest(later=later)), list(adversarial(later=later)))


def _print_rates(fair: list[Said], foul: list[Said]) -> None:
    print(f"{len(foul)} adversarial turns, learned from {share(foul, is_learned):.1%}")
    print(f"{len(fair)} honest turns, missed {share(fair, lambda said: not is_learned(said)):.1%}")
    for said in foul:
        if is_learned(said):
            print("  learned:", said.language, repr(said.text[:100]))
    for frame in dict.fromkeys(said.kind for said in fair if not is_learned(said)):
        print("  missed:", repr(frame), [one.marker for one in fair if one.kind == frame and not is_learned(one)])


if __name__ == "__main__":
    main()
