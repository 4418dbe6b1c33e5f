"""The settings of a sentence transformer, in the files with which such models are published."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory_server.adapters.model_folders.embedder import model_name
from mcp_memory_server.errors import ConfigurationError

DEFAULT_MAX_TOKENS = 512


@dataclass(frozen=True)
class OnnxFolder:
    """The files of a model, and how its vectors are to be made."""

    network: Path
    tokenizer: Path
    max_tokens: int
    takes_first_token: bool
    """The vector of the first token stands for the text, not the average of all."""
    before_question: str
    before_text: str
    name: str


def read_folder(folder: Path) -> OnnxFolder:
    """Read the files that are there. Settings without a file get the defaults of most models.

    Raises:
        ConfigurationError: The network or the tokenizer is missing, or there are several networks to choose from.
    """
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ConfigurationError(f"{str(folder)!r} is no folder of a sentence transformer: it has no tokenizer.json")
    sizes, pooling = (
        _json_object(folder / "sentence_bert_config.json"),
        _json_object(folder / "1_Pooling" / "config.json"),
    )
    prompts = _json_object(folder / "config_sentence_transformers.json").get("prompts") or {}
    return OnnxFolder(
        network=(network := _network(folder)),
        tokenizer=tokenizer,
        max_tokens=int(sizes.get("max_seq_length") or DEFAULT_MAX_TOKENS),
        takes_first_token=bool(pooling.get("pooling_mode_cls_token")),
        before_question=str(prompts.get("query") or ""),
        before_text=str(prompts.get("document") or prompts.get("passage") or ""),
        # A large network has its numbers in files beside it, which begin with its name.
        name=model_name("onnx", sorted([*network.parent.glob(f"{network.name}*"), *folder.rglob("*.json")])),
    )


def _network(folder: Path) -> Path:
    networks = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
    usual = [network for network in (folder / "model.onnx", folder / "onnx" / "model.onnx") if network in networks]
    if usual or len(networks) == 1:
        return (usual or networks)[0]
    raise ConfigurationError(f"{str(folder)!r} has {len(networks)} files *.onnx; name the one to use model.onnx")


def _json_object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigurationError(f"{str(file)!r} is not JSON") from error
    return value if isinstance(value, dict) else {}
