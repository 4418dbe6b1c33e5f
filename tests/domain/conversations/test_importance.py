"""The importance of a turn: a stated preference has the most, a greeting the least, in five languages."""

import random
import time

import pytest

from mcp_memory_server.domain.conversations.importance import (
    ACKNOWLEDGEMENT,
    CORRECTION,
    GREETING,
    LOOKED_AT,
    PREFERENCE,
    RECOMMENDATION,
    TOOL_RESULT,
    USUAL,
    importance,
)
from mcp_memory_server.domain.sessions.turns import Role

FROM_THE_USER = {
    PREFERENCE: [
        "I prefer window seats", "Hi, I hate peanuts", "I don't like cilantro",
        "I really can't stand early flights.", "No, I prefer tea", "I’m allergic to shellfish",  # noqa: RUF001
        "I am a vegan", "My wife is allergic to nuts", "I never fly on Mondays",
        "I'd rather sit at the back", "My favourite colour is green",
        "Thanks! From now on, answer in German", "Please always reply in one sentence",
        "You can call me Alex", "I absolutely love hiking and\n\nI ALSO LIKE swimming",
        "Ich mag keinen Koriander", "Ich trinke lieber Tee als Kaffee",
        "Ich bin allergisch gegen Nüsse", "Mein Lieblingsessen ist Lasagne",
        "Hallo, ich hasse frühe Flüge", "Bitte immer auf Deutsch antworten", "Ich esse kein Fleisch",
        "Ab jetzt bitte kürzere Antworten", "Prefiero el asiento de pasillo", "No me gusta el cilantro",
        "Me encantan los gatos", "Soy alérgica a los mariscos", "Soy vegetariano",
        "Mi color favorito es el verde", "No como carne", "Llámame Pepe", "Hola, odio madrugar",
        "猫が好きです", "パクチーは苦手です", "えびアレルギーがあります", "窓側の席のほうがいいです",
        "肉は食べません", "今後は敬語でお願いします", "私はコーヒー派です", "ニックと呼んでください",
        "我喜欢靠窗的座位", "我不太喜欢香菜", "我对花生过敏", "你好,我讨厌早起", "我不吃肉",
        "以后请用中文回答", "我最喜歡綠色", "叫我小王就好",
    ],
    CORRECTION: [
        "No, I meant Tuesday", "Sorry, I meant the blue one", "That's wrong",
        "That is not what I asked for", "Actually, it starts at nine", "No, it's on Friday",
        "You misunderstood me", "It's Tuesday, not Monday", "Thanks, but I didn't ask for that",
        "It should be 42", "Nein, ich meinte Dienstag", "Das stimmt nicht", "Das ist leider falsch",
        "Nicht am Montag, sondern am Dienstag", "Nein, der Termin ist morgen",
        "No, quise decir el martes", "Eso no es correcto", "Te equivocas",
        "No el lunes, sino el martes", "En realidad son tres personas", "No, es el martes",
        "いいえ、火曜日です", "違います", "月曜日じゃなくて火曜日です", "それは間違っています",
        "訂正します", "そうじゃないです", "不对", "不，我是说星期二", "你弄错了",  # noqa: RUF001
        "不是星期一，而是星期二", "应该是三个人", "我的意思是明天",  # noqa: RUF001
    ],
    ACKNOWLEDGEMENT: [
        "ok", "Thanks!", "Thank you so much 🙏", "Got it, thanks", "Hi, thanks!", "👍", "Sounds good.",
        "That's right", "Thanks Claude", "Danke schön!", "Alles klar, danke", "Das stimmt",
        "Vielen Dank", "Gracias", "Vale, perfecto", "Sí, claro", "ありがとうございます！",  # noqa: RUF001
        "了解しました", "はい、わかりました。", "間違いありません", "好的，谢谢", "明白了", "没错",  # noqa: RUF001
        "不错！", "嗯嗯",  # noqa: RUF001
    ],
    GREETING: [
        "Hi", "hello!!", "Good morning 👋", "Hey there", "Hi Anna", "Hello, how are you?", "Bye",
        "Hallo zusammen", "Guten Morgen!", "Moin", "Grüß Gott", "Hola, ¿qué tal?", "Buenos días",
        "Buenas", "こんにちは", "おはようございます。", "你好", "您好！", "早上好",  # noqa: RUF001
    ],
    RECOMMENDATION: [
        "I recommend the ramen place", "You should try the new one",
    ],
    USUAL: [
        "", "   ", "What is the capital of Peru?", "Book a table for two", "Thanks, but no",
        "No thanks, maybe later", "Hi, help", "I would like a table for two",
        "I'd like to change my booking", "What do I like?", "Tell me what I like", "Do I prefer aisle seats?",
        "What's wrong with my car?", "That's not wrong", "No, that's all, thanks", "No, not yet",
        "I hate to bother you, but where is it?", "I don't have a preference", "Hike the hill",
        "Okapi facts please", "Can you recommend a restaurant?", "Ok, Tuesday", "It looks like rain",
        "Call me back tomorrow", "Can you call me a taxi?", "The office is not only big but quiet",
        "Ich möchte einen Tisch reservieren", "Das ist nicht schlimm", "Nein danke",
        "Nicht nur heute, sondern auch morgen", "Wie spät ist es?", "Me gustaría reservar una mesa",
        "¿Qué hora es?", "No, gracias", "No solo hoy, sino también mañana", "何が好きですか？",  # noqa: RUF001
        "明日の天気は?", "いいえ、結構です", "日本だけではなく中国も", "何が違いますか", "我想订一张票",
        "我喜欢什么？", "这样对不对", "是不是明天", "对不起", "不用了，谢谢", "今天天气怎么样？",  # noqa: RUF001
    ],
}  # fmt: skip

FROM_THE_ASSISTANT = {
    RECOMMENDATION: [
        "I recommend the early train.", "You could try the museum first", "How about Thursday?",
        "I'd suggest a window seat", "Ich empfehle den Zug um acht", "Du solltest früh buchen",
        "Wie wäre es mit Donnerstag?", "Te recomiendo el tren de las ocho", "Deberías reservar pronto",
        "八時の電車がおすすめです", "早めに予約するのはいかがですか", "我推荐您坐早班火车",
        "你可以考虑先去博物馆",
    ],
    GREETING: [
        "Hello! How can I help you today?", "Hallo! Wie kann ich Ihnen helfen?",
        "¡Hola! ¿En qué puedo ayudarte hoy?",
    ],
    ACKNOWLEDGEMENT: [
        "You're welcome!", "Understood.", "どういたしまして", "不客气", "De nada",
    ],
    USUAL: [
        "The train leaves at eight.", "I prefer not to say", "No, I meant the other file", "我喜欢猫",
        "猫が好きです",
    ],
}  # fmt: skip

CASES = [(Role.USER, weight, text) for weight, texts in FROM_THE_USER.items() for text in texts] + [
    (Role.ASSISTANT, weight, text) for weight, texts in FROM_THE_ASSISTANT.items() for text in texts
]


@pytest.mark.parametrize(("role", "weight", "text"), CASES)
def test_the_importance_of_a_turn_follows_from_its_wording(role: Role, weight: float, text: str) -> None:
    assert importance(role, text) == weight


@pytest.mark.parametrize("text", ["I prefer tea", "hi", "", "{}"])
def test_every_tool_result_has_the_same_importance(text: str) -> None:
    assert importance(Role.TOOL, text) == TOOL_RESULT
    assert importance(Role.SYSTEM, text) == USUAL


def test_the_end_of_a_long_text_is_ignored() -> None:
    early, late = "I prefer tea. " + "x " * 100_000, "x " * LOOKED_AT + "I prefer tea."

    assert (importance(Role.USER, early), importance(Role.USER, late)) == (PREFERENCE, USUAL)


def test_case_width_and_spacing_do_not_matter() -> None:
    assert importance(Role.USER, "Ｉ  ＰＲＥＦＥＲ\n\ttea") == PREFERENCE  # noqa: RUF001
    assert importance(Role.USER, "ＯＫ！") == ACKNOWLEDGEMENT  # noqa: RUF001


def test_no_text_takes_long() -> None:
    chance = random.Random(7)
    pieces = [
        "no ",
        "i ",
        "ok ",
        "not ",
        "ich ",
        "no, ",
        "nicht ",
        "a, ",
        "hi",
        "我",
        "じゃ",
        "の",
        "is ",
        "x",
        " ",
        "!",
        "真",
        "也",
        "嗯",
        "好",
        "hi ",
    ]
    texts = ["".join(chance.choices(pieces, k=LOOKED_AT)) for _ in range(20)] + [piece * LOOKED_AT for piece in pieces]
    texts += [text[:79] + "x" for text in texts]

    started = time.perf_counter()
    for text in texts:
        importance(Role.USER, text)

    assert (time.perf_counter() - started) / len(texts) < 0.05
