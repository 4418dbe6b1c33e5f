"""What the search index of a user finds, and what it never finds."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.built_in.search import search_index
from mcp_memory_server.adapters.built_in.search.search_index import BuiltInSearchIndex
from mcp_memory_server.adapters.built_in.search.stemmer import stem
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, Vectors
from mcp_memory_server.domain.language.word_forms import asked_words
from mcp_memory_server.domain.recall.documents import ASSISTANT, USER, Document, Match
from mcp_memory_server.domain.recall.likelihood import FEWEST_RETURNED, Likelihood, likelihood
from tests.bench.recall.stores import own_store

NOW = datetime(2024, 6, 20, 12, tzinfo=UTC)
EMBEDDER = BuiltInEmbedder()
WORDS = "anna bern lives works zoo violin peanut allergic train plays mondays cheese blue house"


def said(number: int, text: str, **details: object) -> Document:
    return replace(Document(f"d{number}", text, "turn", NOW - timedelta(days=30 - number)), **details)  # type: ignore[arg-type]


def vectors_of(texts: Sequence[str]) -> Sequence[Vectors]:
    return [Vectors(vector) for vector in asyncio.run(EMBEDDER.embed(texts))]


def index_of(documents: Sequence[Document]) -> BuiltInSearchIndex:
    index = BuiltInSearchIndex(stem)
    index.add(documents, vectors_of([document.text for document in documents]))
    return index


def ask(index: BuiltInSearchIndex, question: str, **details: object) -> list[Match]:
    arguments = {"asked_at": NOW, "limit": 10} | details
    return index.search([(question, vectors_of([question])[0])], **arguments)  # type: ignore[arg-type]


def ids(matches: Sequence[Match]) -> list[str]:
    return [match.id for match in matches]


ANNA = [
    said(1, "Anna lives in Bern"),
    said(2, "Anna works at the zoo as a vet"),
    said(3, "Anna is allergic to peanuts"),
    said(4, "Anna plays the violin on Mondays"),
]


@pytest.mark.parametrize(
    ("question", "best"),
    [("In which city does Anna live?", "d1"), ("ALLERGIES?", "d3"), ("violinist musician", "d4"), ("alergic", "d3")],
)
def test_the_best_document_is_found_by_words_by_meaning_and_in_spite_of_a_slip(question: str, best: str) -> None:
    assert ids(ask(index_of(ANNA), question))[:1] == [best]


@pytest.mark.parametrize("question", ["", "what is it?"])
def test_a_question_without_a_telling_word_finds_nothing(question: str) -> None:
    assert ask(index_of(ANNA), question) == []


@pytest.mark.parametrize("question", ["quantum chromodynamics", "xyzzy", "東京"])
def test_what_nothing_answers_finds_only_the_nearest_and_never_a_likely_one(question: str) -> None:
    found = ask(index_of(ANNA), question)

    assert found
    assert all(likelihood(match.probability) is not Likelihood.LIKELY for match in found)


def test_of_weak_matches_only_a_few_are_found_and_they_come_last() -> None:
    others = [said(number, f"The {word} is {number} metres high") for number, word in enumerate(WORDS.split(), 10)]

    found = [likelihood(match.probability) for match in ask(index_of([*ANNA, *others]), "What is Anna allergic to?")]

    assert found[0] is not Likelihood.WEAK
    assert found.count(Likelihood.WEAK) <= FEWEST_RETURNED
    assert found == sorted(found, key=list(Likelihood).index)


def test_a_name_that_all_memories_share_makes_none_of_them_likely() -> None:
    about = ["works at the zoo", "plays chess", "is 40 years old", "likes cheese", "lives in Bern", "sings on Mondays"]
    index = index_of([said(number, f"Anna {text}") for number, text in enumerate(about)])

    assert Likelihood.LIKELY not in [likelihood(one.probability) for one in ask(index, "Does Anna own a helicopter?")]


def test_several_questions_find_the_best_of_each() -> None:
    questions = ["violin", "peanuts"]

    found = index_of(ANNA).search(list(zip(questions, vectors_of(questions), strict=True)), asked_at=NOW, limit=2)

    assert set(ids(found)) == {"d3", "d4"}


def test_what_is_past_comes_after_what_holds_unless_it_is_named() -> None:
    index = index_of([said(1, "Anna lives in Bern", is_past=True), said(2, "Anna lives in Rome")])

    assert ids(ask(index, "Where does Anna live?")) == ["d2", "d1"]
    assert ids(ask(index, "Did Anna live in Bern?", only={"d1", "d2"}))[0] == "d1"


@pytest.mark.parametrize("question", ["Where did Anna live before?", "Wo hat Anna früher gewohnt?", "Anna's old home"])
def test_a_question_about_the_past_finds_what_is_past_as_easily(question: str) -> None:
    texts = [said(1, "Anna lives in Bern", is_past=True), said(2, "Anna lives in Rome")]

    past, now = (
        next(match.probability for match in ask(index_of(documents), question) if match.id == "d1")
        for documents in (texts, [replace(texts[0], is_past=False), texts[1]])
    )
    assert past == pytest.approx(now)


def test_an_empty_index_finds_nothing() -> None:
    assert ask(BuiltInSearchIndex(stem), "Bern") == []


def test_documents_are_found_without_any_vectors() -> None:
    index = BuiltInSearchIndex(stem)
    index.add(ANNA)

    assert ids(index.search([("Where does Anna work?", NO_VECTORS)], asked_at=NOW, limit=1)) == ["d2"]


def test_a_document_without_a_vector_is_found_beside_others_that_have_one() -> None:
    index = index_of(ANNA)
    index.add([said(5, "Anna collects stamps of Norway")])

    assert ids(ask(index, "Which stamps does Anna collect?"))[:1] == ["d5"]


def test_a_vector_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="256 dimensions"):
        index_of(ANNA).add([said(5, "other")], [Vectors(b"\x01\x02")])


def test_a_removed_document_never_comes_back() -> None:
    index = index_of(ANNA)
    index.remove(["d1", "never there"])
    index.add([said(6, "Ben has a boat")], vectors_of(["Ben has a boat"]))

    assert "d1" not in index
    assert "d1" not in ids(ask(index, "Anna lives in Bern"))
    assert ids(ask(index, "boat"))[0] == "d6"


def test_the_same_id_again_replaces_the_document() -> None:
    index = index_of(ANNA)
    index.add([said(1, "Anna lives in Basel")], vectors_of(["Anna lives in Basel"]))

    assert (len(index), ids(ask(index, "Basel"))[0]) == (4, "d1")
    assert "words" not in {name for name, part in ask(index, "Bern", explain=True)[0].parts.items() if part}


def test_only_the_named_documents_are_found() -> None:
    assert set(ids(ask(index_of(ANNA), "Anna", only={"d2", "d4", "gone"}))) == {"d2", "d4"}


def test_a_short_answer_is_found_by_the_question_before_it() -> None:
    index = index_of(
        [
            said(1, "Which instrument do you play?", session="s"),
            said(2, "The second one that my father gave me!", session="s"),
            said(3, "The second one that my mother gave me!", session="other"),
        ]
    )
    found = ids(ask(index, "Which instrument was played?"))

    assert "d2" in found
    assert "d3" not in found[: found.index("d2")]


def test_what_the_asker_said_comes_before_what_the_assistant_said() -> None:
    texts = [
        said(1, "The rent is 900 euros", speaker=ASSISTANT, session="s"),
        said(2, "The rent is 950 euros", speaker=USER, session="s"),
    ]

    assert ids(ask(index_of(texts), "What is my rent?")) == ["d2", "d1"]
    assert ids(ask(index_of(texts), "Which rent did you mention?")) == ["d1", "d2"]


def test_the_named_speaker_comes_first() -> None:
    texts = [
        said(1, "I love tennis", speaker="Ben", session="s"),
        said(2, "I love tennis", speaker="Clara Beck", session="s"),
    ]

    assert ids(ask(index_of(texts), "What does Clara love, tennis?"))[:1] == ["d2"]


def test_who_said_nothing_that_is_left_is_nobody_who_can_be_named() -> None:
    index = index_of([said(1, "bern lives", speaker=None), said(2, "anna", speaker="Anna")])
    index.remove(["d2"])

    alone = index_of([said(1, "bern lives", speaker=None)])
    assert _rounded(ask(index, "what did anna eat for dinner")) == _rounded(ask(alone, "what did anna eat for dinner"))


def test_a_question_about_a_time_alone_finds_what_was_said_then() -> None:
    index = index_of([said(29, "We fed the ducks"), said(28, "We bought a lamp"), said(2, "We cut the hedge")])

    assert ids(ask(index, "What did we do yesterday?")) == ["d29"]


def test_the_time_of_a_question_decides_between_equal_texts() -> None:
    texts = [said(number, "I went swimming in the lake") for number in (1, 10, 20)]

    assert ids(ask(index_of(texts), "Did I go swimming three weeks ago?"))[:1] == ["d10"]


def test_what_is_closest_in_meaning_to_a_document_is_known_with_its_cosine() -> None:
    index = index_of([*ANNA, said(8, "Anna is allergic to walnuts"), said(9, "allergic to peanuts", session="s")])

    (closest, cosine), *others = index.alike("d3", 3)

    assert closest == "d8"
    assert cosine > 0.6 > max(other for _, other in others)
    assert "d9" not in dict(others)
    assert index.alike("never there", 3) == []


def test_repetitions_do_not_crowd_out_the_rest() -> None:
    again = [said(number, "Anna really loves the city of Bern") for number in range(5, 12)]

    found = ids(ask(index_of([*ANNA, *again]), "Does Anna love Bern?", limit=2))
    assert len(set(found) & {document.id for document in again}) == 1


def test_what_was_said_more_than_once_is_one_match_that_names_the_other_times() -> None:
    again = [said(number, "I went swimming in the lake", session=f"s{number}") for number in (1, 10, 20)]

    (match,) = ask(index_of(again), "Did I go swimming three weeks ago?")

    assert (match.id, sorted(match.also)) == ("d10", ["d1", "d20"])


def test_who_else_said_the_same_is_known_as_long_as_it_is_there() -> None:
    index = index_of([said(number, "I went swimming in the lake", session="s") for number in (1, 10, 20)])
    index.remove(["d20"])

    assert (index.same_as("d1"), index.same_as("d20"), index.same_as("d30")) == (["d10"], [], [])


def test_a_few_words_say_another_thing_each_time() -> None:
    index = index_of([said(number, "Yes, swimming tomorrow!", session=f"s{number}") for number in (1, 10)])

    assert sorted(ids(ask(index, "swimming"))) == ["d1", "d10"]
    assert index.same_as("d1") == []


@pytest.mark.parametrize(
    "other", [{"speaker": "Ben"}, {"topic": "sports"}, {"session": None}, {"text": "Went swimming"}]
)
def test_the_same_words_are_another_match_if_they_are_somebody_else_s_or_about_something_else(
    other: dict[str, str],
) -> None:
    first = said(1, "I went swimming in the cold lake", speaker="Anna", session="s")
    index = index_of([first, replace(first, id="d2", **other)])  # type: ignore[arg-type]

    assert sorted(ids(ask(index, "swimming"))) == ["d1", "d2"]
    assert index.same_as("d1") == []


def test_what_stands_beside_a_document_in_its_session_is_known_nearest_first() -> None:
    talk = [said(number, f"Number {number} of the talk", session="s") for number in (4, 1, 3, 2, 5)]
    index = index_of([*talk, said(6, "Another talk", session="other"), said(7, "A fact")])

    assert index.beside("d3", 1) == (["d2"], ["d4"])
    assert index.beside("d3", 9) == (["d2", "d1"], ["d4", "d5"])
    assert index.beside("d5", 9) == (["d4", "d3", "d2", "d1"], [])
    assert [index.beside(name, 9) for name in ("d6", "d7", "never there")] == [([], [])] * 3


def test_what_was_removed_stands_beside_nothing() -> None:
    index = index_of([said(number, f"Number {number} of the talk", session="s") for number in (1, 2, 3)])
    index.remove(["d2"])

    assert (index.beside("d1", 9), index.beside("d2", 9)) == (([], ["d3"]), ([], []))


def test_almost_the_same_comes_behind_the_rest() -> None:
    long = "Anna really loves the old city of Bern with its river, bridges, arcades, clock tower, fountains and {}"
    again = [said(number, long.format(end)) for number, end in enumerate(("bears", "parks", "roofs", "trams"), start=5)]

    found = ids(ask(index_of([*again, *ANNA]), "Does Anna love Bern?"))

    assert sorted(found[-3:]) != sorted(found[:3])
    assert len(set(found[:2]) & {document.id for document in again}) == 1


def test_a_changed_number_is_no_repetition() -> None:
    texts = [said(number, f"My library now holds {number} books about gardens") for number in (45, 52)]

    assert len(ask(index_of(texts), "books about gardens in my library", limit=2)) == 2


def test_a_prior_changes_the_order() -> None:
    texts = [said(1, "Anna lives in Bern"), said(2, "Anna lives in Rome")]

    def second_first(documents: Sequence[str]) -> list[float]:
        return [2.0 if document == "d2" else 1.0 for document in documents]

    assert ids(ask(index_of(texts), "Where does Anna live?", prior=second_first))[0] == "d2"


def test_the_parts_of_a_score_say_where_it_comes_from() -> None:
    parts = ask(index_of(ANNA), "Where does Anna live?", explain=True)[0].parts

    assert parts["words"] > 0
    assert parts["meaning"] > 0
    assert parts["session"] == parts["neighbours"] == 0


@pytest.mark.parametrize("language", ["english", "german", "spanish", "japanese", "chinese"])
def test_facts_are_found_in_many_languages(language: str) -> None:
    store = own_store()
    index = index_of(store.documents)
    asked = [question for question in store.questions if question.category == language]

    found = [question for question in asked if question.evidence <= set(ids(ask(index, question.text, limit=5)))]
    assert len(found) >= 0.8 * len(asked)


@pytest.mark.parametrize(
    ("word", "with_a_sign_of_it", "with_all"),
    [
        ("健康状態", "健一さんは医者だ", "健康状態は良い"),
        ("ペット", "チャットは夜に返す", "ペットは二匹いる"),
        ("体检报告", "检票口在北边", "体检报告已收到"),
    ],
)
def test_a_sign_of_a_word_is_not_the_word(word: str, with_a_sign_of_it: str, with_all: str) -> None:
    """What is looked up by its signs is held as far as all its signs are, whether or not anybody said the others."""
    fact = Document("d1", with_a_sign_of_it, "fact", NOW)

    (beside_nothing,) = ask(index_of([fact]), word, explain=True)
    found = ask(index_of([fact, replace(fact, id="d2", text=with_all)]), word, explain=True)

    assert ids(found) == ["d2", "d1"]
    assert beside_nothing.parts["words"] < 0.5 * found[0].parts["words"]


texts = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=6).map(" ".join)
documents = st.lists(
    st.builds(
        Document,
        st.sampled_from("abcdefgh"),
        texts,
        st.just("turn"),
        st.integers(0, 5).map(lambda days: NOW - timedelta(days=days)),
        st.sampled_from([None, USER, "Anna"]),
        st.sampled_from([None, "s1", "s2"]),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(documents, st.sets(st.sampled_from("abcdefgh")), texts)
def test_an_index_that_grew_answers_like_one_built_at_once(
    written: list[Document], removed: set[str], question: str
) -> None:
    grown = BuiltInSearchIndex(stem)
    for document in written:
        grown.add([document], vectors_of([document.text]))
    grown.remove(removed)
    last = {document.id: number for number, document in enumerate(written)}
    left = [one for number, one in enumerate(written) if last[one.id] == number and one.id not in removed]

    assert _rounded(ask(grown, question)) == _rounded(ask(index_of(left), question))


def test_two_indexes_that_know_of_each_other_answer_as_one_does() -> None:
    """One small index and a larger one: each match is as probable as in an index of all documents."""
    store = own_store()
    documents, question = store.documents[:40], (text := store.questions[0].text, vectors_of([text])[0])
    parts = [index_of(documents[:3]), index_of(documents[3:])]
    sizes = [part.statistics(asked_words(text)) for part in parts]
    samples = [
        part.score_samples([question], asked_at=NOW, beside=other)
        for part, other in zip(parts, reversed(sizes), strict=True)
    ]
    others = [replace(size, samples=sample) for size, sample in zip(sizes, samples, strict=True)]

    together = {
        match.id: match.probability for match in ask(index_of(documents), question[0], limit=100, few_weak=False)
    }
    found = [
        match
        for part, other in zip(parts, reversed(others), strict=True)
        for match in ask(part, question[0], limit=100, few_weak=False, beside=other)
    ]

    assert len(found) == len(together)
    assert all(abs(match.probability - together[match.id]) < 0.05 for match in found)


def test_a_large_index_finds_what_a_complete_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(5)
    index = index_of(
        [said(number, " ".join(draw.choices(WORDS.split(), k=8)), session=str(number % 99)) for number in range(3_000)]
    )
    questions = [" ".join(draw.sample(WORDS.split(), 4)) for _ in range(20)]

    quick = [set(ids(ask(index, question))) for question in questions]
    monkeypatch.setattr(search_index, "SCORED_COMPLETELY", 10_000)
    complete = [set(ids(ask(index, question))) for question in questions]
    assert sum(len(one & other) for one, other in zip(quick, complete, strict=True)) >= 0.9 * 10 * len(questions)


def test_a_large_index_never_finds_what_was_removed() -> None:
    index = index_of([said(number, f"Anna bought lamp {number}") for number in range(1_600)])
    index.remove([f"d{number}" for number in range(500)])

    found = ids(ask(index, "Which lamp did Anna buy?", limit=1_600))
    assert len(found) > 0
    assert all(document_id in index for document_id in found)


def test_a_large_index_without_vectors_is_asked_with_one() -> None:
    index = BuiltInSearchIndex(stem)
    index.add([said(number, f"Anna bought lamp {number}") for number in range(1_200)])

    assert ids(ask(index, "Which lamp did Anna buy, 77?", limit=1)) == ["d77"]


def _rounded(matches: list[Match]) -> dict[str, float]:
    return {match.id: round(match.probability, 3) for match in matches}
