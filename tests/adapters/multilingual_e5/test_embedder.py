"""multilingual-e5-small is the published one: its file, its tokens, and its vectors, whoever computes them."""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace, Split
from tokenizers.pre_tokenizers import Sequence as InTurn

from mcp_memory_server.adapters.multilingual_e5.blas_threads import number_of_blas_threads, one_blas_thread
from mcp_memory_server.adapters.multilingual_e5.embedder import DIMENSIONS, MultilingualE5Embedder
from mcp_memory_server.adapters.multilingual_e5.model import MAX_TOKENS, Model, load_model
from mcp_memory_server.adapters.multilingual_e5.onnx_network import network
from mcp_memory_server.adapters.multilingual_e5.pieces import Pieces, normalise
from mcp_memory_server.adapters.multilingual_e5.question_means import MEANS, QuestionMeans
from mcp_memory_server.adapters.multilingual_e5.weights import LAYERS, WEIGHTS, Weights
from mcp_memory_server.adapters.multilingual_e5.worker import Urgency, Worker
from mcp_memory_server.domain.kernel.vectors import as_vector, closeness
from mcp_memory_server.errors import UnavailableError
from tests.engines.multilingual_e5 import PUBLISHED, arrays_of, means_of, means_of_languages
from tests.engines.neutral_sentences import CHINESE, ENGLISH, GERMAN, JAPANESE, LANGUAGES, SPANISH, Language

pytestmark = pytest.mark.anyio

SHA256 = "4a49ffa4cd50fcff28686342c653d72813362303d867e4e5ce51f4f62dedee3a"

KNOWN: list[dict[str, Any]] = json.loads(Path(__file__).with_name("multilingual_e5_known.json").read_text("utf-8"))
"""Texts, with the tokens and the vectors that another implementation gives them for the published weights."""
TEXTS = [known["text"] for known in KNOWN]

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=[False, True], ids=["numpy", "onnxruntime"])
def model(request: pytest.FixtureRequest) -> Model:
    return load_model(use_onnxruntime=request.param)


@cache
def vocabulary() -> list[tuple[str, float]]:
    weights = Weights()
    pieces = weights["vocabulary"].tobytes().decode().split("\n")
    return list(zip(pieces, weights["scores"].tolist(), strict=True))


@cache
def ours() -> Pieces:
    pieces, scores = zip(*vocabulary(), strict=True)
    return Pieces(pieces, scores)


@cache
def theirs() -> Tokenizer:
    """The published tokenizer behind its normaliser. The names of its special tokens are no text."""
    named = [(piece if number > 3 else f"\0{number}", score) for number, (piece, score) in enumerate(vocabulary())]
    made = Tokenizer(Unigram(named, unk_id=3, byte_fallback=False))
    words = [Split(" ", "removed"), Metaspace(prepend_scheme="always")]
    made.pre_tokenizer = InTurn(words)  # pyright: ignore[reportAttributeAccessIssue]
    return made


def by_name(known: Mapping[str, Any]) -> str:
    return known["text"][:20]


def test_the_file_is_the_one_that_was_made() -> None:
    assert hashlib.sha256(WEIGHTS.read_bytes()).hexdigest() == SHA256


@pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published weights are not beside the repository")
def test_making_the_file_again_from_the_published_weights_gives_the_same() -> None:
    weights = Weights()
    with np.load(PUBLISHED) as published:
        made = arrays_of(published)

    assert {name for name, array in made.items() if not np.array_equal(weights[name], array)} == set()


def test_the_means_are_those_of_the_neutral_sentences() -> None:
    weights = Weights()

    means = means_of(load_model(use_onnxruntime=True))

    for name, mean in means.items():
        assert closeness(as_vector(mean.tolist()), as_vector(weights[name].tolist())) > 0.9999


def test_the_means_of_languages_are_those_of_their_neutral_questions() -> None:
    own = Weights(MEANS)

    means = means_of_languages(load_model(use_onnxruntime=True))

    for name, mean in means.items():
        assert closeness(as_vector(mean.tolist()), as_vector(own[name].tolist())) > 0.9999


def test_there_are_enough_neutral_sentences_and_none_twice() -> None:
    notes = [note for language in LANGUAGES for note in language.notes()]
    asked = [question for language in LANGUAGES for question in language.asked()]

    assert len(set(notes)) == len(notes) >= 600
    assert len(set(asked)) == len(asked) >= 300


@pytest.mark.parametrize("known", KNOWN, ids=by_name)
def test_a_text_has_the_published_tokens(known: Mapping[str, Any]) -> None:
    model = load_model(use_onnxruntime=False)

    assert model.token_ids(known["text"], as_question=known["as_question"]) == known["ids"]


@settings(deadline=None)  # the first text waits until the tokenizers are made
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(TEXTS), max_size=5))
def test_any_text_is_cut_as_the_published_tokenizer_cuts_it(texts: list[str]) -> None:
    text = " ".join(texts)

    assert ours().ids(text, 10_000) == theirs().encode(normalise(text), add_special_tokens=False).ids


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cafe\u0301", "caf\u00e9"),
        ("\uac01", "\u1100\u1161\u11a8"),
        ("\uff21\uff22", "AB"),
        ("the  dog\r\n", " the\u00a0dog\u200b"),
        ("d\x00o\x07g", "dog"),
        ("the \U0001fae8", "the \U0001fae8\U0001fae8"),
    ],
)
def test_what_is_the_same_text_for_the_model_has_the_same_tokens(one: str, other: str) -> None:
    assert ours().ids(one, 100) == ours().ids(other, 100) != []


def test_the_wide_tilde_is_not_the_narrow_one() -> None:
    assert ours().ids("10\uff5e12時", 100) != ours().ids("10~12時", 100)


@pytest.mark.parametrize("known", KNOWN, ids=by_name)
def test_a_text_lies_where_the_published_model_places_it(model: Model, known: Mapping[str, Any]) -> None:
    means = QuestionMeans(Weights()["mean_of_questions"])
    mean = means.of(known["text"]) if known["as_question"] else Weights()["mean_of_passages"]
    expected = as_vector((np.array(known["vector"]) - mean).tolist())

    vector = model.vector(known["text"], as_question=known["as_question"])

    assert closeness(vector, expected) > 0.999


def test_numpy_and_onnxruntime_give_interchangeable_vectors() -> None:
    texts = [note for language in LANGUAGES for note in language.notes()[::9]]
    by_numpy, by_onnxruntime = (
        [load_model(use_onnxruntime=choice).vector(text, as_question=False) for text in texts]
        for choice in (False, True)
    )

    assert min(map(closeness, by_numpy, by_onnxruntime)) > 0.999


def test_unrelated_texts_are_neither_near_nor_opposite() -> None:
    model = load_model(use_onnxruntime=True)
    questions = [model.vector(text, as_question=True) for text in ("How do I repair a roof?", "Wer erfand das Radio?")]
    passages = [model.vector(text, as_question=False) for text in ENGLISH.notes()]

    cosines = [closeness(question, passage) for question in questions for passage in passages]

    assert abs(sum(cosines) / len(cosines)) < 0.1


@pytest.mark.parametrize(
    ("language", "questions", "farthest"),
    [
        (JAPANESE, ["屋根の修理はどうすればいいですか?", "ラジオを発明したのは誰?", "月までの距離"], 0.11),
        (CHINESE, ["怎样修理屋顶?", "谁发明了收音机?", "月球离我们有多远"], 0.2),
        (GERMAN, ["Wie repariert man ein Dach?", "Wer hat das Radio erfunden?", "Wie weit ist es zum Mond?"], 0.11),
        (SPANISH, ["¿Cómo se repara un tejado?", "¿Quién inventó la radio?", "¿A qué distancia está la luna?"], 0.11),
    ],
    ids=["Japanese", "Chinese", "German", "Spanish"],
)
def test_a_question_is_not_near_to_whatever_is_written_in_its_language(
    language: Language, questions: Sequence[str], farthest: float
) -> None:
    model = load_model(use_onnxruntime=True)
    notes = [model.vector(text, as_question=False) for text in language.notes()]

    for question in questions:
        place = model.vector(question, as_question=True)
        cosines = [closeness(place, note) for note in notes]
        assert abs(sum(cosines) / len(cosines)) < farthest


def test_a_name_in_japanese_makes_no_english_question_a_japanese_one() -> None:
    means = QuestionMeans(Weights()["mean_of_questions"])

    assert means.of("Who is 李さん at work?") is means.of("Who is she?") is means.of("Где она живёт?")
    assert means.of("李さんは誰?") is not means.of("她是谁?")
    assert means.of("Wo wohnt ihre Mutter?") is not means.of("¿Dónde vive su madre?")


def test_a_question_in_one_language_finds_the_answer_in_another() -> None:
    model = load_model(use_onnxruntime=False)
    passages = ["佐藤さんは青年漫画が好きです", "Ana arbeitet als Krankenschwester in Lissabon", "My cat is called Mia"]
    places = {text: model.vector(text, as_question=False) for text in passages}

    def nearest(question: str) -> str:
        vector = model.vector(question, as_question=True)
        return max(passages, key=lambda text: closeness(vector, places[text]))

    assert [nearest(one) for one in ("manga", "what is her profession?", "¿cómo se llama el gato?")] == passages


def test_the_graph_is_valid() -> None:
    onnx.checker.check_model(onnx.load_model_from_string(network(Weights(), range(LAYERS))))


def test_only_the_beginning_of_a_long_text_counts() -> None:
    model = load_model(use_onnxruntime=True)

    short, long = ("dog " * MAX_TOKENS, "dog " * 100_000 + "piano")

    assert len(model.token_ids(long, as_question=False)) == MAX_TOKENS
    assert model.vector(short, as_question=False) == model.vector(long, as_question=False)


async def test_vectors_do_not_depend_on_how_many_threads_others_use() -> None:
    embedder = MultilingualE5Embedder(use_onnxruntime=False)
    (expected,) = await embedder.embed(["the dog"])
    threads = [threading.Thread(target=lambda: np.ones((300, 300)) @ np.ones((300, 300))) for _ in range(4)]

    for thread in threads:
        thread.start()
    (meanwhile,) = await embedder.embed(["the dog"])
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])

    assert meanwhile == expected
    await embedder.close()


def test_matrices_are_multiplied_on_one_thread_only_meanwhile() -> None:
    before = number_of_blas_threads()

    with one_blas_thread():
        with one_blas_thread():
            inner = number_of_blas_threads()
        outer = number_of_blas_threads()

    assert (inner, outer) == ((1, 1) if before is not None else (None, None))
    assert number_of_blas_threads() == before


async def test_it_is_loaded_when_prepared_and_not_before() -> None:
    embedder = MultilingualE5Embedder()
    before = embedder.is_loaded

    embedder.prepare()
    embedder.prepare()
    await embedder.embed(["waits behind the loading"], as_question=True)

    assert (before, embedder.is_loaded) == (False, True)
    await embedder.close()


async def test_a_question_goes_before_passages_that_came_earlier() -> None:
    embedder = MultilingualE5Embedder(use_onnxruntime=False)
    done: list[str] = []

    async def embed(text: str, *, as_question: bool) -> None:
        await embedder.embed([text], as_question=as_question)
        done.append(text)

    passages = [asyncio.create_task(embed(f"passage {number}", as_question=False)) for number in range(60)]
    await embed("question", as_question=True)
    await asyncio.gather(*passages)

    assert done.index("question") < 30
    await embedder.close()


async def test_a_closed_embedder_says_so_and_may_be_prepared_in_vain() -> None:
    embedder = MultilingualE5Embedder()
    await embedder.close()

    embedder.prepare()

    with pytest.raises(UnavailableError, match="closed"):
        await embedder.embed(["the dog"])


BROKEN = {"missing": "raise ModuleNotFoundError('onnxruntime')", "damaged": "raise ImportError", "too old": ""}


@pytest.mark.parametrize("onnxruntime", BROKEN.values(), ids=BROKEN)
def test_without_a_working_onnxruntime_numpy_does_it(tmp_path: Path, onnxruntime: str) -> None:
    (tmp_path / "onnxruntime.py").write_text(onnxruntime)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    script = (
        "import asyncio, sys\n"
        "from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder\n"
        "(vector,) = asyncio.run(MultilingualE5Embedder().embed(['the dog']))\n"
        "assert not {'onnx', 'tokenizers', 'safetensors'} & set(sys.modules)\n"
        "print(vector.hex())"
    )

    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    here = load_model(use_onnxruntime=False).vector("the dog", as_question=False)
    assert closeness(bytes.fromhex(done.stdout), here) > 0.999


@pytest.mark.parametrize("use_onnxruntime", [False, True])
def test_a_process_that_ends_while_texts_are_embedded_ends_well(*, use_onnxruntime: bool) -> None:
    script = (
        "import asyncio\n"
        "from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder\n"
        "async def main():\n"
        f"    embedder = MultilingualE5Embedder({use_onnxruntime})\n"
        "    tasks = [asyncio.create_task(embedder.embed(['word ' * 200] * 50)) for _ in range(50)]\n"
        "    await embedder.embed(['the dog'], as_question=True)\n"
        "asyncio.run(main())\n"
    )

    for _ in range(3):
        command = [sys.executable, "-c", script]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)

        assert (done.returncode, done.stderr) == (0, "")


def submitted(worker: Worker, done: list[str], names: Sequence[tuple[str, Urgency]]) -> None:
    for name, urgency in names:
        worker.submit(urgency, lambda name=name: done.append(name))


def test_jobs_are_done_in_the_order_of_their_urgency() -> None:
    worker, done, may_begin = Worker("test"), list[str](), threading.Event()
    worker.submit(Urgency.LOADING, lambda: may_begin.wait(30))
    passages = [("first", Urgency.PASSAGE), ("second", Urgency.PASSAGE)]
    submitted(worker, done, [*passages, ("question", Urgency.QUESTION), ("loading", Urgency.LOADING)])

    last = worker.submit(Urgency.PASSAGE, lambda: None)
    may_begin.set()
    last.result(30)

    assert done == ["loading", "question", "first", "second"]


def test_a_long_job_lets_more_urgent_ones_go_before_the_rest_of_it() -> None:
    worker, done, may_begin = Worker("test"), list[str](), threading.Event()

    def long_job() -> None:
        may_begin.wait(30)
        worker.do_what_goes_before(Urgency.PASSAGE)
        done.append("long")

    long = worker.submit(Urgency.PASSAGE, long_job)
    submitted(worker, done, [("passage", Urgency.PASSAGE), ("question", Urgency.QUESTION)])
    may_begin.set()
    long.result(30)
    worker.submit(Urgency.PASSAGE, lambda: None).result(30)

    assert done == ["question", "long", "passage"]


def test_others_have_their_turn_several_times_while_a_text_is_embedded(model: Model) -> None:
    turns: list[None] = []

    model.vector("the dog", as_question=False, between=lambda: turns.append(None))

    assert len(turns) >= 4


def test_jobs_of_a_closed_worker_are_still_done() -> None:
    worker, may_begin = Worker("test"), threading.Event()
    worker.submit(Urgency.PASSAGE, lambda: may_begin.wait(30))
    waiting = worker.submit(Urgency.PASSAGE, lambda: "done")

    worker.close()
    may_begin.set()

    assert waiting.result(30) == "done"


def test_a_job_that_fails_tells_who_waits_and_the_next_is_done() -> None:
    worker = Worker("test")
    failing = worker.submit(Urgency.QUESTION, lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        failing.result(30)
    assert worker.submit(Urgency.QUESTION, lambda: "done").result(30) == "done"


def test_a_vector_has_as_many_bytes_as_it_says(model: Model) -> None:
    assert len(model.vector("the dog", as_question=True)) == DIMENSIONS
