"""Measure whether the prompt block of an agent has the fact that a question needs, and how many tokens it takes.

python -m tests.bench.injection                    the personas in the data beside the repository
python -m tests.bench.injection --data FOLDER

Each fact is saved by itself, without a topic, and each question is the first message of a new conversation with a real
agent of Strands. What is counted is what the model reads beside the question.
"""

import argparse
import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from strands import Agent

from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import ScriptedModel
from mcp_memory_server import Scope, Settings, Statement, count_tokens, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import load_exact
from tests.bench.figures import Cell, Figures, print_figures, verdict
from tests.bench.recall.fine_vectors import all_embedded, embedded_once
from tests.bench.recall.personas import NO_ANSWER, Persona, read_personas
from tests.bench.recall.stores import DEFAULT_DATA, Question

OWNER = Scope("owner")
FOUND_BUDGET = 0.75
TOKEN_BUDGET = 300


@dataclass(frozen=True)
class Block:
    """What a model read beside a question: the share of the needed facts in it, and its tokens."""

    category: str
    share: float
    tokens: int


@dataclass
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


async def measure_persona(persona: Persona, folder: Path) -> list[Block]:
    """Save the facts of a persona, and ask an agent its questions."""
    clock = _Clock(max(question.asked_at for question in persona.questions))
    async with open_memory(
        Settings(table=f"sqlite://{folder}/{persona.name.replace('/', '-')}.db"), now=clock
    ) as memory:
        for fact in persona.facts:
            await memory.facts.learn(OWNER, Statement(fact.text, said_at=fact.at))
        await memory.recall.search(OWNER, "anything")
        await all_embedded(memory, OWNER)
        plugin = MemoryPlugin(memory=memory, offer_tools=False)
        await _asked(plugin, persona.questions[0].text, "first")  # the index is built, and models are loaded
        texts = {fact.id: fact.text for fact in persona.facts}
        blocks: list[Block] = []
        for question in persona.questions:
            clock.now = question.asked_at
            block = await _asked(plugin, question.text, question.id)
            blocks.append(_block(question, block, texts))
    return blocks


async def _asked(plugin: MemoryPlugin, words: str, session: str) -> str:
    model = ScriptedModel("I see.")
    agent = Agent(model=model, plugins=[plugin], callback_handler=None)
    await agent.invoke_async(words, invocation_state=for_user(OWNER.user_id, session))
    return model.seen[0].text.removeprefix(words)


def _block(question: Question, block: str, texts: Mapping[str, str]) -> Block:
    lines = set(block.splitlines())
    found = sum(f"- {texts[one]}" in lines for one in question.evidence)
    return Block(question.category, found / max(1, len(question.evidence)), count_tokens(block))


def figures_of(blocks: Sequence[Block]) -> Figures:
    """Return what was found, by the category of the question."""
    by_category: defaultdict[str, list[Block]] = defaultdict(list)
    for block in blocks:
        by_category[block.category].append(block)
    answerable = [block for block in blocks if block.category != NO_ANSWER]
    rows = [_row(category, some) for category, some in sorted(by_category.items())]
    rows.append(_row("all that can be answered", answerable))
    found = sum(block.share == 1 for block in answerable) / len(answerable)
    most = max(block.tokens for block in blocks)
    is_found, is_short = verdict(holds=found >= FOUND_BUDGET), verdict(holds=most <= TOKEN_BUDGET)
    return Figures(
        "injection: the prompt block for the first question of a conversation",
        rows,
        (
            f"all needed facts in the block: {found:.1%}, at least {FOUND_BUDGET:.0%}: {is_found}",
            f"the longest block: {most} tokens, at most {TOKEN_BUDGET}: {is_short}",
        ),
    )


def _row(name: str, blocks: Sequence[Block]) -> dict[str, Cell]:
    tokens = [block.tokens for block in blocks]
    is_answerable = name != NO_ANSWER
    return {
        "questions": name,
        "number": len(blocks),
        "all needed %": 100 * sum(block.share == 1 for block in blocks) / len(blocks) if is_answerable else "",
        "needed facts %": 100 * sum(block.share for block in blocks) / len(blocks) if is_answerable else "",
        "tokens p50": median(tokens),
        "most tokens": max(tokens),
    }


async def measure(data: Path) -> Figures:
    load_exact()
    with tempfile.TemporaryDirectory() as folder, embedded_once():
        blocks = [block for persona in read_personas(data) for block in await measure_persona(persona, Path(folder))]
    return figures_of(blocks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the recall data")
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    chosen = parser.parse_args()
    figures = asyncio.run(measure(chosen.data))
    print_figures(figures)
    if chosen.json:
        chosen.json.write_text(json.dumps([vars(figures)], indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
