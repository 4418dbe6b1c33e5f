"""How the ranking fares if memories belong to several owners: is a merged ranking as good as one over a single memory?

python -m tests.bench.recall.owners [--data FOLDER]

Each persona's short facts are saved for the user alone; then half of them, then one in eight, for a project; then all
for the user, with a team's memory of 500 other facts beside them. The last is compared with the same 500 facts in the
user's own memory.
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean

from mcp_memory_server import Memory, Owner, OwnerKind, Owners, Scope, Settings, Statement, open_memory
from tests.bench.recall.distractors import distractors
from tests.bench.recall.fine_vectors import all_embedded, embedded_once
from tests.bench.recall.personas import Persona, read_personas
from tests.bench.recall.stores import DEFAULT_DATA

USER = "owner"
OTHERS = 500
MOST_TOKENS = 20_000


@dataclass(frozen=True)
class Case:
    """Where the facts of a persona are saved: every so many-th in the project, and others with the user or a team."""

    name: str
    every: int = 0
    others: OwnerKind | None = None

    def owner_of(self, place: int) -> Owner:
        in_project = self.every and place % self.every == 0
        return Owner.project(USER, "web") if in_project else Owner.user(USER)


CASES = (
    Case("all with the user"),
    Case("half in a project", every=2),
    Case("one in eight in a project", every=8),
    Case(f"all with the user, among {OTHERS} others", others=OwnerKind.USER),
    Case(f"all with the user, {OTHERS} others with a team", others=OwnerKind.TEAM),
)
SCOPE = Owners(project="web", team="acme").scope(USER)


async def measure(personas: Sequence[Persona], case: Case) -> tuple[list[float], list[float]]:
    """Return the share of the evidence among the first five, and the reciprocal rank, of each question."""
    found, ranks = list[float](), list[float]()
    for persona in personas:
        now = max(question.asked_at for question in persona.questions)
        with tempfile.TemporaryDirectory() as folder:
            settings = Settings().model_copy(update={"table": f"sqlite://{Path(folder) / 'memory.db'}"})
            async with open_memory(settings, now=lambda now=now: now) as memory:
                ids = await _save(memory, persona, case)
                for question in persona.questions:
                    if question.evidence:
                        recalled = await memory.recall.search(SCOPE, question.text, max_tokens=MOST_TOKENS)
                        told = [ids.get(one.id) for one in recalled.memories]
                        found.append(len(question.evidence & {*told[:5]}) / len(question.evidence))
                        first = next((place for place, one in enumerate(told, 1) if one in question.evidence), None)
                        ranks.append(1 / first if first else 0.0)
    return found, ranks


async def _save(memory: Memory, persona: Persona, case: Case) -> dict[str, str]:
    ids: dict[str, str] = {}
    for place, fact in enumerate(persona.facts):
        scope = Scope(USER, remember_in=case.owner_of(place))
        learned = await memory.facts.learn(scope, Statement(fact.text, topic=fact.topic, said_at=fact.at))
        ids[learned.fact.id] = fact.id
    beside = Scope(USER, remember_in=None if case.others is OwnerKind.USER else Owner.team("acme"))
    for one in distractors(OTHERS) if case.others else ():
        await memory.facts.learn(beside, Statement(one.text, topic=one.topic, said_at=one.at))
    await memory.recall.search(SCOPE, persona.questions[0].text)
    for part in SCOPE.parts:
        await all_embedded(memory, part)
    return ids


async def run(data: Path) -> None:
    """Print a line for each case."""
    personas = read_personas(data)
    with embedded_once():
        for case in CASES:
            started = datetime.now()  # noqa: DTZ005 - for a person to read
            found, ranks = await measure(personas, case)
            seconds = (datetime.now() - started).total_seconds()  # noqa: DTZ005
            print(
                f"{case.name:44} R@5 {100 * fmean(found):5.1f}  MRR {100 * fmean(ranks):5.1f}  "
                f"{len(found)} questions, {seconds:.0f} s",
                flush=True,
            )


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="the folder of the recall data")
    asyncio.run(run(parser.parse_args().data))


if __name__ == "__main__":
    main()
