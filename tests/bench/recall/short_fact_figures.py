"""What the answers about short facts come to: what was found, what was labelled how, and what came back empty."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from tests.bench.figures import Cell, Figures
from tests.bench.recall.personas import NO_ANSWER
from tests.bench.recall.short_facts import Answer, Setting

LABELS = ("likely", "related", "weak")


@dataclass(frozen=True)
class Hits:
    """How well questions were answered, in percent; ``usual`` is what of the evidence is in the usual reply."""

    questions: int
    at_5: float
    at_10: float
    reciprocal: float
    usual: float
    empty: int

    def to_row(self, name: str) -> dict[str, Cell]:
        return {
            "": name,
            "questions": self.questions,
            "R@5": self.at_5,
            "R@10": self.at_10,
            "MRR": self.reciprocal,
            "in usual reply": self.usual,
            "answered with nothing": self.empty,
        }


@dataclass(frozen=True)
class Precision:
    """How many of the memories with one label are evidence."""

    label: str
    memories: int
    evidence: int

    @property
    def share(self) -> float:
        return self.evidence / self.memories if self.memories else 0.0


def hits(answers: Sequence[Answer]) -> Hits:
    """Return how well the questions that have an answer were answered."""
    answerable = [answer for answer in answers if answer.question.evidence]
    return Hits(
        len(answerable),
        100 * fmean(_recall(answer, answer.found[:5]) for answer in answerable),
        100 * fmean(_recall(answer, answer.found[:10]) for answer in answerable),
        100 * fmean(_reciprocal_rank(answer) for answer in answerable),
        100 * fmean(_recall(answer, [name for name, _ in answer.told]) for answer in answerable),
        sum(not answer.told for answer in answerable),
    )


def precisions(answers: Iterable[Answer]) -> list[Precision]:
    """Return the precision of each label in the usual replies, to questions without an answer too."""
    labelled = [(label, name in answer.question.evidence) for answer in answers for name, label in answer.told]
    counted = {label: [right for other, right in labelled if other == label] for label in LABELS}
    return [Precision(label, len(right), sum(right)) for label, right in counted.items() if right]


def falsely_likely(answers: Iterable[Answer]) -> float:
    """Return for which percentage of the questions without an answer something is called likely."""
    without = [answer for answer in answers if answer.question.category == NO_ANSWER]
    return 100 * fmean(any(label == "likely" for _, label in answer.told) for answer in without)


def by_kind(setting: Setting, answers: Sequence[Answer]) -> list[Figures]:
    """Return the tables of one setting: by category, and by persona and the language that was asked in."""
    return [
        Figures(f"short facts through the tool, {setting.name}, by category", _rows(answers, _category)),
        Figures(f"short facts through the tool, {setting.name}, by persona", _rows(answers, _persona), notes(answers)),
    ]


def by_language(setting: Setting, answers: Sequence[Answer]) -> Figures:
    """Return the table of one setting by the language of facts and questions."""
    title = f"the same facts in five languages, {'with' if setting.topics else 'without'} topics"
    return Figures(title, _rows(answers, lambda answer: answer.persona.language), notes(answers))


def of_settings(measured: dict[Setting, list[Answer]]) -> Figures:
    """Return one line a setting."""
    return Figures(
        "short facts through the tool",
        [
            {
                **hits(answers).to_row(setting.name),
                "tokens": int(median(answer.tokens for answer in answers)),
                "ms": median(answer.milliseconds for answer in answers),
                **_label_cells(answers),
            }
            for setting, answers in measured.items()
        ],
    )


def notes(answers: Sequence[Answer]) -> list[str]:
    """Return what is said about labels, if replies carry any."""
    found = precisions(answers)
    if not found:
        return []
    shares = ", ".join(f"{one.label} {one.share:.2f} ({one.evidence} of {one.memories})" for one in found)
    precise = f"precision of labels: {shares}"
    if all(answer.question.evidence for answer in answers):
        return [precise]
    falsely = f"{falsely_likely(answers):.0f} %"
    return [precise, f"questions without an answer for which something is called likely: {falsely}"]


def _label_cells(answers: Sequence[Answer]) -> dict[str, Cell]:
    """Return the precision of each label, and how often a question without an answer gets something likely."""
    shares = {one.label: f"{one.share:.2f}" for one in precisions(answers)}
    if not shares:
        return {}
    return {**{label: shares.get(label, "-") for label in LABELS}, "falsely likely, %": falsely_likely(answers)}


def _rows(answers: Sequence[Answer], key: Callable[[Answer], str]) -> list[dict[str, Cell]]:
    answerable = [answer for answer in answers if answer.question.evidence]
    names = list(dict.fromkeys(key(answer) for answer in answerable))
    groups = {name: [answer for answer in answerable if key(answer) == name] for name in names}
    return [hits(group).to_row(name) for name, group in {**groups, "all": answerable}.items()]


def _category(answer: Answer) -> str:
    return answer.question.category


def _persona(answer: Answer) -> str:
    persona = answer.persona
    return f"{persona.name}, {persona.language}, asked in {persona.asked_in[answer.question.id]}"


def _recall(answer: Answer, found: Iterable[str | None]) -> float:
    evidence = answer.question.evidence
    return len(evidence.intersection(found)) / len(evidence)


def _reciprocal_rank(answer: Answer) -> float:
    evidence = answer.question.evidence
    return next((1 / place for place, name in enumerate(answer.found, 1) if name in evidence), 0.0)
