"""What a folder with a sentence transformer says about it, in the form in which such models are published."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_memory_server.errors import ConfigurationError

DEFAULT_MAX_TOKENS = 512

_NAME_LETTERS = 16


@dataclass(frozen=True)
class ModelFolder:
    """The files of a model, and how its vectors are to be made."""

    network: Path
    tokenizer: Path
    max_tokens: int
    takes_first_token: bool
    """The vector of the first token stands for the text, not the average of all."""
    before_question: str
    before_text: str
    name: str


def read_folder(folder: Path) -> ModelFolder:
    """Read what is there; what is not said is as it is with most models.

    Raises:
        ConfigurationError: The network or the tokenizer is missing, or there are several networks to choose from.
    """
    tokenizer = folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ConfigurationError(f"{str(folder)!r} is no folder of a sentence transformer: it has no tokenizer.json")
    sizes, pooling = _said(folder / "sentence_bert_config.json"), _said(folder / "1_Pooling" / "config.json")
    prompts = _said(folder / "config_sentence_transformers.json").get("prompts") or {}
    return ModelFolder(
        network=(network := _network(folder)),
        tokenizer=tokenizer,
        max_tokens=int(sizes.get("max_seq_length") or DEFAULT_MAX_TOKENS),
        takes_first_token=bool(pooling.get("pooling_mode_cls_token")),
        before_question=str(prompts.get("query") or ""),
        before_text=str(prompts.get("document") or prompts.get("passage") or ""),
        # A large network has its numbers in files beside it, which begin with its name.
        name=_name(*sorted([*network.parent.glob(f"{network.name}*"), *folder.rglob("*.json")])),
    )


def _network(folder: Path) -> Path:
    networks = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
    usual = [network for network in (folder / "model.onnx", folder / "onnx" / "model.onnx") if network in networks]
    if usual or len(networks) == 1:
        return (usual or networks)[0]
    raise ConfigurationError(f"{str(folder)!r} has {len(networks)} files *.onnx; name the one to use model.onnx")


def _name(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as data:
            digest.update(hashlib.file_digest(data, "sha256").digest())
    return f"onnx/{digest.hexdigest()[:_NAME_LETTERS]}"


def _said(file: Path) -> dict[str, Any]:
    try:
        said = json.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigurationError(f"{str(file)!r} is not JSON") from error
    return said if isinstance(said, dict) else {}
