"""What people install: one wheel with everything in it that the server needs, and nothing that only tests need."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        ".",
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_has_the_package_its_data_and_its_types(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())

    assert {
        "mcp_memory_server/__main__.py",
        "mcp_memory_server/py.typed",
        "mcp_memory_server/adapters/multilingual_e5/multilingual_e5_small.safetensors",
        "mcp_memory_server/adapters/tiktoken/cl100k_base.tokens",
        "agent_plugins/__init__.py",
        "agent_plugins/breakers/lua/circuit.lua",
    } <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


def test_the_wheel_has_the_licences_of_the_data_in_it(wheel: zipfile.ZipFile) -> None:
    licences = {Path(name).name for name in wheel.namelist() if "/licenses/" in name}

    assert {"LICENSE", "potion_base_8m.LICENSE", "multilingual_e5_small.LICENSE", "cl100k_base.LICENSE"} <= licences


def test_the_wheel_installs_the_command_twice_and_an_extra_for_each_technology(wheel: zipfile.ZipFile) -> None:
    (metadata,) = (name for name in wheel.namelist() if name.endswith("METADATA"))
    (scripts,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))

    extras = {
        line.removeprefix("Provides-Extra: ")
        for line in wheel.read(metadata).decode().splitlines()
        if line.startswith("Provides-Extra: ")
    }

    assert "mcp-memory-server = mcp_memory_server.cli:main" in wheel.read(scripts).decode()
    assert "mcp-agent-memory = mcp_memory_server.cli:main" in wheel.read(scripts).decode()
    assert extras == {
        "dynamodb",
        "dax",
        "redis",
        "sqs",
        "anthropic",
        "bedrock",
        "strands",
        "agent-squad",
        "langgraph",
        "openai-agents",
        "pydantic-ai",
        "metrics",
        "model2vec",
        "onnx",
        "all",
    }
