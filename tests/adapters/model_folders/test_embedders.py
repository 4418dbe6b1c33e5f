"""Models in folders: what is read of a folder, what is wrong with one, and that nothing is downloaded."""

import json
import shutil
from pathlib import Path

import pytest

from mcp_memory_server.adapters.model_folders.model2vec import open_model2vec
from mcp_memory_server.adapters.model_folders.onnx import open_onnx
from mcp_memory_server.domain.kernel.vectors import as_vector, closeness
from mcp_memory_server.errors import ConfigurationError, UnavailableError
from tests.engines.potion import PUBLISHED
from tests.engines.small_models import DIMENSIONS, WORDS, model2vec_folder, onnx_folder, vectors

pytestmark = pytest.mark.anyio


def average(*words: str) -> bytes:
    return as_vector(vectors()[[WORDS.index(word) for word in words]].mean(axis=0).tolist())


async def test_a_static_model_places_a_text_at_the_average_of_its_words(tmp_path: Path) -> None:
    embedder = await open_model2vec(model2vec_folder(tmp_path / "model"))

    (vector,) = await embedder.embed(["the unheard dog"])

    assert closeness(vector, average("the", "dog")) > 0.999
    assert embedder.dimensions == DIMENSIONS
    await embedder.close()


@pytest.mark.parametrize("pooled", [False, True])
async def test_a_transformer_places_a_text_at_the_average_of_its_tokens(tmp_path: Path, *, pooled: bool) -> None:
    embedder = await open_onnx(onnx_folder(tmp_path / "model", pooled=pooled))

    (vector,) = await embedder.embed(["the dog"])

    assert closeness(vector, average("[CLS]", "the", "dog", "[SEP]")) > 0.999
    assert embedder.dimensions == DIMENSIONS
    await embedder.close()


async def test_a_transformer_whose_folder_says_so_takes_the_first_token(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    embedder = await open_onnx(folder)

    (vector,) = await embedder.embed(["the dog"])

    assert closeness(vector, average("[CLS]")) > 0.999
    await embedder.close()


async def test_a_transformer_whose_folder_says_so_is_told_what_a_question_is(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model")
    prompts = {"prompts": {"query": "music ", "document": "train "}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    embedder = await open_onnx(folder)

    (question,) = await embedder.embed(["dog"], as_question=True)
    (memory,) = await embedder.embed(["dog"])

    assert closeness(question, average("[CLS]", "music", "dog", "[SEP]")) > 0.999
    assert closeness(memory, average("[CLS]", "train", "dog", "[SEP]")) > 0.999
    await embedder.close()


async def test_a_transformer_reads_as_many_tokens_as_its_folder_says(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 4}))
    embedder = await open_onnx(folder)

    short, long = await embedder.embed(["the dog", "the dog walks to the park"])

    assert short == long
    await embedder.close()


async def test_the_only_network_of_a_folder_is_taken_whatever_its_name(tmp_path: Path) -> None:
    embedder = await open_onnx(onnx_folder(tmp_path / "model", network="model_quint8_avx2.onnx"))

    assert embedder.dimensions == DIMENSIONS
    await embedder.close()


async def test_several_networks_without_a_usual_name_are_a_setting_to_correct(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model", network="one.onnx")
    shutil.copy(folder / "one.onnx", folder / "other.onnx")

    with pytest.raises(ConfigurationError, match=r"2 files \*\.onnx"):
        await open_onnx(folder)


async def test_a_model_has_the_same_name_wherever_it_lies_and_another_when_it_changes(tmp_path: Path) -> None:
    here = await open_model2vec(model2vec_folder(tmp_path / "here"))
    there = await open_model2vec(model2vec_folder(tmp_path / "there"))
    config = tmp_path / "there" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "max_length": 8}))
    changed = await open_model2vec(tmp_path / "there")

    assert here.model == there.model
    assert changed.model != there.model


async def test_a_transformer_has_the_same_name_wherever_it_lies_and_another_when_it_changes(tmp_path: Path) -> None:
    here = await open_onnx(onnx_folder(tmp_path / "here"))
    there = await open_onnx(onnx_folder(tmp_path / "there"))
    changed = await open_onnx(onnx_folder(tmp_path / "other", pooled=True))

    assert here.model == there.model
    assert changed.model != here.model


@pytest.mark.parametrize("name", ["minishlab/potion-base-8M", "nowhere"])
async def test_a_folder_that_is_not_there_is_a_setting_to_correct_and_not_downloaded(name: str) -> None:
    with pytest.raises(ConfigurationError, match="no folder"):
        await open_model2vec(Path(name))
    with pytest.raises(ConfigurationError, match="no folder"):
        await open_onnx(Path(name))


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("content", [None, b"", b"damaged"])
async def test_a_damaged_static_model_is_a_setting_to_correct(tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = model2vec_folder(tmp_path / "model")
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)

    with pytest.raises(ConfigurationError, match="model"):
        await open_model2vec(folder)


@pytest.mark.parametrize("file", ["onnx/model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"damaged"])
async def test_a_damaged_transformer_is_a_setting_to_correct(tmp_path: Path, file: str, content: bytes | None) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / file).unlink() if content is None else (folder / file).write_bytes(content)

    with pytest.raises(ConfigurationError, match="model"):
        await open_onnx(folder)


async def test_a_description_that_is_not_json_is_named(tmp_path: Path) -> None:
    folder = onnx_folder(tmp_path / "model")
    (folder / "sentence_bert_config.json").write_text("{")

    with pytest.raises(ConfigurationError, match="sentence_bert_config"):
        await open_onnx(folder)


async def test_what_was_closed_is_unavailable(tmp_path: Path) -> None:
    static = await open_model2vec(model2vec_folder(tmp_path / "static"))
    transformer = await open_onnx(onnx_folder(tmp_path / "transformer"))
    await static.close()
    await transformer.close()

    with pytest.raises(UnavailableError, match="closed"):
        await static.embed(["the dog"])
    with pytest.raises(UnavailableError, match="closed"):
        await transformer.embed(["the dog"])


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published model potion-base-8M is not beside the repository")
async def test_a_published_model_is_loaded_from_its_folder() -> None:
    embedder = await open_model2vec(PUBLISHED)

    dog, walk, piano = await embedder.embed(["my dog", "walking a puppy", "a piano concert"])

    assert closeness(dog, walk) > closeness(dog, piano)
    await embedder.close()
