"""Models of a few words, made where a test needs them, in the forms in which models are published."""

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

DIMENSIONS = 32

_TEXT = "the a i my you is in to and on at of dog cat pet walks walk every morning evening park plays piano loves music"
WORDS = ["[UNK]", "[CLS]", "[SEP]", *_TEXT.split(), "concert", "jazz", "berlin", "train", "ana", "ben"]


def vectors() -> np.ndarray:
    """Return a direction for each word, the same ones each time."""
    return np.random.default_rng(7).normal(size=(len(WORDS), DIMENSIONS)).astype(np.float32)


def tokenizer() -> Tokenizer:
    made = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = BertNormalizer()  # pyright: ignore[reportAttributeAccessIssue]
    made.pre_tokenizer = BertPreTokenizer()  # pyright: ignore[reportAttributeAccessIssue]
    return made


def model2vec_folder(folder: Path) -> Path:
    """Make a static model."""
    folder.mkdir(parents=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    save_file({"embeddings": vectors()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"model_type": "model2vec", "normalize": True}))
    return folder


def onnx_folder(folder: Path, *, pooled: bool = False, network: str = "onnx/model.onnx") -> Path:
    """Make a network that looks tokens up, and gives the vector of each; ``pooled``: only one for the text."""
    (folder / network).parent.mkdir(parents=True)
    made = tokenizer()
    around = [("[CLS]", WORDS.index("[CLS]")), ("[SEP]", WORDS.index("[SEP]"))]
    made.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)  # pyright: ignore[reportAttributeAccessIssue]
    made.save(str(folder / "tokenizer.json"))
    onnx.save(_network(pooled=pooled), str(folder / network))
    return folder


def _network(*, pooled: bool) -> onnx.ModelProto:
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    name, shape = "last_hidden_state", ["batch", "tokens", DIMENSIONS]
    if pooled:
        nodes.append(helper.make_node("ReduceMean", [name], ["sentence_embedding"], axes=[1], keepdims=0))
        name, shape = "sentence_embedding", ["batch", DIMENSIONS]
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "small", given, [output], [numpy_helper.from_array(vectors(), "table")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
