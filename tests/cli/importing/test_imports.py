"""Each format of another program comes in with its times, twice adds nothing, and answers a question afterwards."""

import gzip
import json
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.cli.commands import Run

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Case:
    """A format: how its file is made, what comes in, and a question that only its data answers."""

    title: str
    make: Callable[[Path], Path]
    question: str
    answer: str
    said: str
    added: int
    merged: int = 0
    refused: int = 0
    turns: int = 0
    sessions: int = 0
    owner: str | None = None

    @property
    def arguments(self) -> list[str]:
        return [] if self.owner is None else ["--owner", self.owner]


def fixture(name: str) -> Callable[[Path], Path]:
    return lambda _folder: FILES / name


def claude_zip(folder: Path) -> Path:
    return _zipped(folder, {"conversations.json": "claude.json", "memories.json": "claude-memories.json"})


def chatgpt_zip(folder: Path) -> Path:
    return _zipped(folder, {"conversations.json": "chatgpt.json"})


def _zipped(folder: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(folder / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for member, file in members.items():
            archive.write(FILES / file, member)
        archive.writestr("users.json", "[]")
    return folder / "export.zip"


def memory_service_database(folder: Path) -> Path:
    columns = "content_hash TEXT UNIQUE, content TEXT, tags TEXT, memory_type TEXT, created_at_iso TEXT"
    with closing(sqlite3.connect(folder / "sqlite_vec.db")) as database, database:
        database.execute(
            f"CREATE TABLE memories (id INTEGER PRIMARY KEY, {columns}, created_at REAL, deleted_at REAL DEFAULT NULL)"
        )
        rows = [
            (1, "aa01", "The wine cellar code changes every quarter.", "house,security", "note", None),
            (2, "aa02", "Deleted words.", "", "note", 1750000300.0),
        ]
        for number, digest, content, tags, kind, deleted in rows:
            values = (number, digest, content, tags, kind, "2025-06-15T15:06:40Z", 1750000000.0, deleted)
            database.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?)", values)
    return folder / "sqlite_vec.db"


def claude_mem_database(folder: Path) -> Path:
    with closing(sqlite3.connect(folder / "claude-mem.db")) as database, database:
        database.executescript((FILES / "claude-mem.sql").read_text())
    return folder / "claude-mem.db"


def obsidian_folder(folder: Path) -> Path:
    (folder / "vault" / ".obsidian").mkdir(parents=True)
    (folder / "vault" / ".obsidian" / "hidden.md").write_text("Plugin settings are not a memory of anybody.")
    for file in (FILES / "obsidian").glob("*.md"):
        shutil.copy(file, folder / "vault")
    return folder / "vault"


CASES = [
    Case(
        "data export of Claude",
        claude_zip,
        "What can I bake for my daughter?",
        "flourless chocolate cake",
        "2025-11-02",
        added=3,
        merged=1,
        turns=2,
        sessions=1,
    ),
    Case(
        "data export of ChatGPT",
        chatgpt_zip,
        "Which race is the user preparing for?",
        "Hamburg marathon",
        "2025-01-27",
        added=1,
        turns=2,
        sessions=1,
    ),
    Case(
        "memories of mem0",
        fixture("mem0.json"),
        "Where does she live?",
        "studio in Valparaiso",
        "2025-03-05",
        added=2,
        merged=1,
        refused=1,
    ),
    Case(
        "file of server-memory",
        fixture("server-memory.json"),
        "Which instruments does she collect?",
        "vintage synthesizers",
        "",
        added=4,
    ),
    Case(
        "memories of mcp-memory-service",
        fixture("memory-service.json"),
        "Where is the archive hosted?",
        "Backblaze",
        "2025-06-15",
        added=2,
    ),
    Case(
        "memories of mcp-memory-service",
        memory_service_database,
        "How often does the code of the cellar change?",
        "every quarter",
        "2025-06-15",
        added=1,
    ),
    Case(
        "memories of claude-mem",
        claude_mem_database,
        "Where are orders queued?",
        "NATS JetStream",
        "2025-12-06",
        added=4,
        turns=1,
        sessions=1,
    ),
    Case("Markdown notes", fixture("CLAUDE.md"), "On which day do we deploy?", "make ship", "", added=5),
    Case("Markdown notes", obsidian_folder, "What is my starter called?", "Herbert", "2025-02-03", added=4),
    Case(
        "notes of basic-memory",
        fixture("basic-memory"),
        "Who restores harpsichords?",
        "Pieter Claes (skill)",
        "2025-03-01",
        added=4,
    ),
    Case(
        "items of a DynamoDB table",
        fixture("dynamodb-sessions.json"),
        "Who replaced the boiler?",
        "Heidkamp",
        "2025-07-01",
        added=0,
        turns=2,
        sessions=1,
    ),
    Case(
        "items of a DynamoDB table",
        fixture("dynamodb-chats.json"),
        "Which carriage should be booked?",
        "quiet carriage",
        "2025-07-02",
        added=0,
        turns=2,
        sessions=1,
    ),
    Case(
        "items of a DynamoDB table",
        fixture("dynamodb-memories.jsonl"),
        "Who is the accountant?",
        "Pilar Ocampo",
        "2025-01-05",
        added=1,
        merged=1,
    ),
    Case(
        "items of a DynamoDB table",
        fixture("dynamodb-by-user.jsonl"),
        "What was stolen in Delft?",
        "bike was stolen",
        "2025-06-28",
        added=4,
        turns=1,
        sessions=1,
        owner="noor",
    ),
]


def each(test: Callable[..., None]) -> Callable[..., None]:
    names = [f"{case.title} {number}" for number, case in enumerate(CASES)]
    return pytest.mark.parametrize("case", CASES, ids=names)(test)


def recalled(run: Run, question: str) -> list[dict[str, Any]]:
    return run("recall", question, "--json", "--max-tokens", "2000").json["memories"]


@each
def test_it_comes_in_and_answers_a_question(case: Case, run: Run, tmp_path: Path) -> None:
    file = str(case.make(tmp_path))

    done = run("import", file, "--json", *case.arguments).json

    assert (done["format"], done["added"], done["merged"]) == (case.title, case.added, case.merged)
    assert (done["known"], done["forgotten"], len(done["refused"])) == (0, 0, case.refused)
    assert (done["turns"]["added"], done["turns"]["sessions"]) == (case.turns, case.sessions)
    found = recalled(run, case.question)
    (answer,) = [one for one in found[:3] if case.answer in one["text"]][:1]
    assert str(answer.get("learned") or answer.get("date") or answer.get("since")).startswith(case.said)
    assert {fact["source"] for fact in run("facts", "--json").json} <= {"imported"}


@each
def test_the_second_time_adds_nothing(case: Case, run: Run, tmp_path: Path) -> None:
    file = str(case.make(tmp_path))
    run("import", file, *case.arguments)

    again = run("import", file, "--json", *case.arguments).json

    assert (again["added"], again["known"], again["turns"]["added"]) == (0, case.added, 0)


@each
def test_a_dry_run_says_the_same_and_writes_nothing(case: Case, run: Run, table: Path, tmp_path: Path) -> None:
    file = str(case.make(tmp_path))

    shown = run("import", file, "--dry-run", *case.arguments)

    assert f"would add {case.added}, known before 0" in shown.out
    assert case.title in shown.err
    assert not table.exists()


def test_what_was_forgotten_does_not_come_back(run: Run) -> None:
    file = str(FILES / "server-memory.json")
    run("import", file)
    (fact,) = [one for one in run("facts", "--json").json if "synthesizers" in one["text"]]
    run("forget", fact["id"])

    again = run("import", file, "--json").json
    dry = run("import", file, "--json", "--dry-run").json

    assert (again["added"], again["known"], again["forgotten"]) == (0, 3, 1)
    assert (dry["added"], dry["known"], dry["forgotten"]) == (0, 3, 1)


def test_what_ended_here_is_not_revived(run: Run) -> None:
    file = str(FILES / "server-memory.json")
    run("import", file)
    (fact,) = [one for one in run("facts", "--json").json if "Mondays" in one["text"]]
    run("end", fact["id"])

    run("import", file)

    assert not [one for one in run("facts", "--json").json if "Mondays" in one["text"]]


def test_passwords_are_left_out(run: Run, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("- The staging database is reached with password=hunter2-Xk29sQ by everyone\n")

    run("import", str(tmp_path / "notes.md"))

    assert "hunter2" not in run("facts").out
    assert "staging database" in run("facts").out


def test_a_long_text_becomes_several_facts(run: Run, tmp_path: Path) -> None:
    long = " ".join(f"In week {number} the greenhouse got a new pane of glass." for number in range(400))
    (tmp_path / "notes.md").write_text(long)

    done = run("import", str(tmp_path / "notes.md"), "--json").json

    assert done["added"] == 4
    assert done["refused"] == []


def test_a_table_of_several_users_is_not_mixed_up(run: Run) -> None:
    file = str(FILES / "dynamodb-by-user.jsonl")

    refused = run("import", file)
    omar = run("import", file, "--owner", "omar", "--json").json
    nobody = run("import", file, "--owner", "zoe")

    assert refused.code == nobody.code == 2
    assert "2 users ('noor', 'omar'); name the one with --owner" in refused.err
    assert omar["added"] == 1
    assert [one["text"] for one in run("facts", "--json").json] == ["Omar keeps bees."]


def test_an_unknown_file_is_refused_with_what_would_be_right(run: Run, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")

    refused = run("import", str(tmp_path / "table.csv"))

    assert refused.code == 2
    assert "import --help" in refused.err


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("conversations.json", b'[{"uuid": "1", "chat_messages": ["no message"]}]'),
        ("conversations.json", b'[{"conversation_id": "1", "mapping": {"a": 7}, "current_node": "a"}]'),
        ("export.zip", b"PK\x03\x04 and then nothing"),
        ("export.json.gz", b"\x1f\x8b\x08 and then nothing"),
        ("items.json", b'{"Items": [{"PK": {"S": "u"}, "SK": {"S": "1"}, "text": {"N": "many"}}]}'),
    ],
)
def test_data_of_another_shape_is_reported_in_one_line_and_adds_nothing(
    name: str, content: bytes, run: Run, table: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)

    refused = run("import", str(tmp_path / name))

    (line,) = refused.err.splitlines()
    assert refused.code == 2
    assert name in line
    assert not table.exists()


def test_a_refused_part_is_named_and_the_rest_comes_in(run: Run) -> None:
    done = run("import", str(FILES / "mem0.json"))

    assert done.code == 0
    assert "added 2, known before 0, forgotten before 0, duplicates merged 1\n" in done.out
    assert "refused: memory c3c2c3d4-6b24-45b7-bced-17fbb4d8baca: a text was expected" in done.err


def strands_items() -> list[dict[str, Any]]:
    """Return items as strands-dynamodb-storage 0.2 writes them: a memory, a compressed one, and a session."""
    told = {"messages": [{"role": "user", "content": [{"text": "Our supplier for hinges is Blum."}]}]}
    return [
        {
            "pk": {"S": "user/kim"},
            "sk": {"S": "memory/dynamodb/0f"},
            "k": {"S": "user/kim/memory/dynamodb/0f"},
            "data": {"B": b"Kim repairs accordions."},
            "meta": {"M": {"topic": {"S": "work"}, "created_at": {"S": "2025-05-05T05:05:05Z"}}},
        },
        {
            "pk": {"S": "user/kim"},
            "sk": {"S": "memory/dynamodb/1f"},
            "k": {"S": "user/kim/memory/dynamodb/1f"},
            "data": {"B": gzip.compress(b"Kim's workshop is in Graz.")},
            "z": {"BOOL": True},
        },
        {
            "pk": {"S": "user/kim"},
            "sk": {"S": "sessions/s1/snapshot"},
            "k": {"S": "user/kim/sessions/s1/snapshot"},
            "data": {"B": json.dumps(told).encode()},
        },
    ]


def squad_items() -> list[dict[str, Any]]:
    """Return an item as Agent Squad 1.1 writes it: a whole conversation with one agent."""
    message = {"role": {"S": "user"}, "content": {"L": [{"M": {"text": {"S": "My tram line is the 12."}}}]}}
    conversation = [{"M": {**message, "timestamp": {"N": "1750000000000"}}}]
    return [{"PK": {"S": "kim"}, "SK": {"S": "s1#travel-agent"}, "conversation": {"L": conversation}}]


@pytest.mark.parametrize(
    ("items", "keys", "facts", "question", "answer"),
    [
        (strands_items(), ("pk", "sk"), 2, "Which instruments does Kim repair?", "accordions"),
        (strands_items(), ("pk", "sk"), 2, "Who delivers the hinges?", "Blum"),
        (squad_items(), ("PK", "SK"), 0, "Which tram line do I take?", "the 12"),
    ],
    ids=["strands memory", "strands session", "agent squad"],
)
def test_a_table_is_read_where_it_is(
    items: list[dict[str, Any]],
    keys: tuple[str, str],
    facts: int,
    question: str,
    answer: str,
    run: Run,
    moto_endpoint: str,
    request: pytest.FixtureRequest,
) -> None:
    client, name = boto3.client("dynamodb", region_name="eu-west-1", endpoint_url=moto_endpoint), "other-program"
    client.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=True)],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
        BillingMode="PAY_PER_REQUEST",
    )
    request.addfinalizer(lambda: client.delete_table(TableName=name))
    for item in items:
        client.put_item(TableName=name, Item=item)
    address = f"dynamodb://{name}?region=eu-west-1&endpoint={moto_endpoint}"

    done, again = (run("import", address, "--json").json for _ in range(2))

    assert (done["added"], done["turns"]["added"]) == (facts, 1)
    assert (again["added"], again["known"], again["turns"]["added"]) == (0, facts, 0)
    assert answer in " ".join(one["text"] for one in recalled(run, question)[:2])
