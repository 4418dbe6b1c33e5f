"""A match is returned with its context in the conversation, and filler is left out."""

from collections.abc import Collection, Sequence

import pytest

from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.exchanges import (
    LATEST,
    LONG,
    MOST_CONTEXT_TURNS,
    Conversations,
    Form,
    spoken_as,
    with_exchanges,
)
from mcp_memory_server.domain.recall.likelihood import LIKELY_FROM, RELATED_FROM

LIKELY, RELATED, LESS_RELATED, WEAK = LIKELY_FROM + 0.1, 0.3, RELATED_FROM + 0.01, RELATED_FROM / 3


def conversation(*turns: str, speakers: str = "AB", without: Collection[str] = ()) -> Conversations:
    """Return a conversation of two who speak in turns; the turns are called t0, t1 and so on."""
    spoken = {f"t{place}": spoken_as(speakers[place % 2], text) for place, text in enumerate(turns)}
    names = list(spoken)

    def beside(name: str, reach: int) -> tuple[list[str], list[str]]:
        if name not in spoken:
            return [], []
        place = names.index(name)
        return names[max(0, place - reach) : place][::-1], names[place + 1 : place + 1 + reach]

    return Conversations(beside, spoken.get, lambda name: name not in without)


def matches(*found: tuple[str, float]) -> list[Match]:
    return [Match(name, probability, {}) for name, probability in found]


def ids(found: Sequence[Match]) -> list[str]:
    return [match.id for match in found]


QUESTION = "Which colour did you choose?"


def test_the_reply_to_a_likely_question_comes_right_after_it_however_it_was_found() -> None:
    talk = conversation(QUESTION, "A pale sage.", "I see it before me.", "It dries fast.")

    unlikely = with_exchanges(matches(("t0", LIKELY), ("t3", RELATED), ("t1", WEAK)), talk)
    not_found = with_exchanges(matches(("t0", LIKELY), ("t3", RELATED)), talk)

    assert ids(unlikely)[:3] == ["t0", "t1", "t3"]
    assert ids(not_found)[:3] == ["t0", "t1", "t3"]
    assert [match.is_context for match in not_found[:3]] == [False, True, False]


def test_the_reply_to_a_related_question_comes_right_after_it_if_it_is_almost_as_probable() -> None:
    talk = conversation(QUESTION, "A pale sage.", "I see it before me.", "It dries fast.")

    close = with_exchanges(matches(("t0", RELATED), ("t3", 0.25), ("t1", 0.2)), talk)
    far = with_exchanges(matches(("t0", RELATED), ("t3", 0.25), ("t1", 0.07)), talk)

    assert ids(close)[:3] == ["t0", "t1", "t3"]
    assert ids(far)[:3] == ["t0", "t3", "t1"]


def test_replies_that_ask_in_return_are_followed_by_their_own_replies() -> None:
    talk = conversation("Where do you live?", "In Bern. And you?", "In Ghent.")

    found = with_exchanges(matches(("t0", LIKELY), ("f1", RELATED), ("t1", LIKELY - 0.05)), talk)

    assert ids(found)[:4] == ["t0", "t1", "t2", "f1"]


def test_what_the_same_speaker_says_after_a_question_is_no_reply() -> None:
    talk = conversation(QUESTION, "I have been thinking of it.", speakers="AA")

    found = with_exchanges(matches(("t0", LIKELY), ("f1", RELATED), ("t1", LESS_RELATED)), talk)

    assert ids(found) == ["t0", "f1", "t1"]


def test_the_turn_between_two_matches_and_the_rest_of_a_list_come_after_all_matches() -> None:
    talk = conversation("First the tent.", "Noted.", "Then the stove.", "A good one.", "And a rope.")

    found = with_exchanges(matches(("t0", RELATED), ("f1", LESS_RELATED), ("f2", WEAK)), talk)

    assert ids(found) == ["t0", "f1", "f2", "t2", "t3", "t4"]
    assert [match.is_context for match in found] == [False] * 3 + [True] * 3


def test_turns_nearer_to_a_better_match_come_first_and_only_a_few_are_returned() -> None:
    talk = conversation(*(f"Item number {number} of the inventory." for number in range(30)))

    found = with_exchanges(matches(("t20", RELATED), ("t5", LESS_RELATED)), talk)

    brought = [match.id for match in found if match.is_context]
    assert len(brought) == MOST_CONTEXT_TURNS
    assert set(brought) == {"t19", "t21", "t18", "t22"}


def test_the_context_of_the_best_match_is_not_left_for_last_however_much_is_related() -> None:
    talk = conversation("First the tent.", "A good one indeed.")
    others = [(f"f{number}", LESS_RELATED) for number in range(2 * LATEST)]

    assert ids(with_exchanges(matches(("t0", RELATED), *others), talk))[LATEST] == "t1"


def test_a_weak_match_has_no_context() -> None:
    talk = conversation("First the tent.", "A good one indeed.")

    assert ids(with_exchanges(matches(("t0", WEAK)), talk)) == ["t0"]


def test_a_long_turn_is_context_only_as_the_reply_to_a_likely_question() -> None:
    lecture = "Paint is a mixture of pigments and a medium. " * (LONG // 40)
    talk = conversation(QUESTION, lecture, "I see.")

    assert "t1" in ids(with_exchanges(matches(("t0", LIKELY)), talk))
    assert "t1" not in ids(with_exchanges(matches(("t0", RELATED)), talk))


def test_turns_excluded_by_the_question_are_no_context() -> None:
    talk = conversation(QUESTION, "A pale sage.", "I see it before me.", without={"t1", "t2"})

    assert ids(with_exchanges(matches(("t0", LIKELY)), talk)) == ["t0"]


def test_duplicates_of_a_match_are_no_context() -> None:
    talk = conversation(QUESTION, "A pale sage.")
    found = with_exchanges([Match("t0", LIKELY, {}), Match("f1", RELATED, {}, also=("t1",))], talk)

    assert ids(found) == ["t0", "f1"]


def test_nothing_is_found_twice_or_lost() -> None:
    talk = conversation("Where do you live?", "In Bern. And you?", "In Ghent. Since when?", "Since May.")
    given = matches(("t2", LIKELY), ("t0", LIKELY - 0.01), ("t1", RELATED), ("t3", LESS_RELATED), ("f1", WEAK))

    assert sorted(ids(with_exchanges(given, talk))) == sorted(ids(given))


def test_single_facts_stay_as_they_are() -> None:
    given = matches(("f1", LIKELY), ("f2", WEAK))

    assert with_exchanges(given, conversation()) == given
    assert with_exchanges([], conversation()) == []


def test_filler_is_left_out() -> None:
    talk = conversation("The boat leaves at nine.", "Sure, sounds good.", "Take care, bye!")

    found = with_exchanges(matches(("t1", RELATED), ("t0", RELATED), ("t2", RELATED)), talk)

    assert ids(found) == ["t0"]


def test_filler_is_returned_if_there_is_nothing_else() -> None:
    assert ids(with_exchanges(matches(("t0", WEAK)), conversation("Take care, bye!"))) == ["t0"]


def test_a_yes_to_a_question_is_an_answer() -> None:
    talk = conversation("Are you a vegetarian?", "Yes, absolutely!", "Does she drink wine?", "Thanks, bye!")

    found = ids(with_exchanges(matches(("t0", LIKELY), ("t2", LIKELY), ("t3", RELATED)), talk))

    assert found == ["t0", "t1", "t2"]


@pytest.mark.parametrize(
    "text",
    [
        "Take care, bye!", "Agreed!", "Sure, sounds good", "Thanks, Mel! See you later!", "👍👍", "...",
        "You too! Have a great day.", "Haha, wow!", "Danke dir, bis bald!", "Schönen Abend noch!", "Klingt gut.",
        "Gern geschehen!", "¡Muchas gracias, hasta luego!", "De acuerdo.", "¡Qué bien!", "Nos vemos mañana.",
        "ありがとうございます!", "了解しました。", "じゃあまたね!", "お大事に。", "谢谢,再见!", "太好了",
    ],
)  # fmt: skip
def test_greetings_thanks_and_agreement_are_filler_in_five_languages(text: str) -> None:
    assert spoken_as("A", text).form in (Form.FILLER, Form.REACTION)


@pytest.mark.parametrize(
    "text",
    [
        "No.", "Me too!", "Thanks for the kayak", "Bye, I move to Bern.", "Yes, in Bern.", "Good: Tuesday.", "At 9",
        "Great, it is 42!", "Ja, um neun.", "Danke, lieber nicht.", "Sí, el martes.", "Vale, a las dos.",
        "はい、火曜日です。", "いいえ", "好的,星期二", "不", "Same here.", "Sage green", "Senfgelb", "七時",
    ],
)  # fmt: skip
def test_a_few_words_that_say_something_are_no_filler(text: str) -> None:
    assert spoken_as("A", text).form is Form.STATEMENT


@pytest.mark.parametrize(
    "text",
    [
        "Where do you live?", "And you? I am curious!", "Tell me about your job.", "Please recommend a hotel.",
        "Wo wohnst du?", "Sag mir bitte, wann du kommst.", "¿Dónde vives?", "Dime qué comes.", "どこに住んでいますか。",
        "お仕事について教えてください。", "你住在哪里？", "你住在北京吗",  # noqa: RUF001
    ],
)  # fmt: skip
def test_questions_and_requests_are_recognised_in_five_languages(text: str) -> None:
    assert spoken_as("A", text).form is Form.QUESTION


def test_a_question_at_the_beginning_of_a_long_text_does_not_make_it_a_question() -> None:
    assert (
        spoken_as("A", f"What a day! Do you know? {'We went up to the hut and rested there. ' * 4}").form
        is Form.STATEMENT
    )
