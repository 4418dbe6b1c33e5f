"""Count words that this repository no longer uses, and say where: ``python -m tests.project.vocabulary [folder ...]``.

Only names, comments, docstrings and documents count. Other strings are data: what people write, what a model is told.
"""

import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("mcp_memory_server", "agent_plugins", "examples")
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "OPERATIONS.md", "SECURITY.md", "CONTRIBUTING.md", "docs")

RETIRED = re.compile(
    r"told|tells?|telling|talk(?:s|ed|ing)?|at[ _]hand|tall(?:y|ies)|patience|(?:made|makes?|making|gives?)[ _]way"
    r"|guests?|caretaker|stretch(?:es)?|looked away|stamps?|said[ _]again|until[ _]it[ _]holds"
    r"|(?:on|upon) (?:its|their) way|given up|marks?|liking|lacking|looked after|looks after|look after",
    re.IGNORECASE,
)


def words_in(text: str) -> list[str]:
    """Return the retired words of a text, also as parts of names: ``is_told``, ``ToldPage``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)
    return [match[0].lower() for match in re.finditer(rf"(?<![a-zA-Z])(?:{RETIRED.pattern})(?![a-zA-Z])", spaced, re.I)]


def prose_of(path: Path) -> str:
    """Return what of the file is prose: all of a document; of a module its names, comments and docstrings."""
    text = path.read_text(encoding="utf-8")
    return "\n".join(_prose_of_code(text)) if path.suffix == ".py" else text


def _prose_of_code(text: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""'))
        if token.type in (tokenize.NAME, tokenize.COMMENT) or is_docstring:
            yield token.string


def found_in(*places: str) -> dict[Path, Counter[str]]:
    """Return the retired words in these files and folders, by file."""
    paths = [ROOT / place for place in places]
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    wanted = [file for file in files if file.suffix in {".py", ".md"} and "decisions" not in file.parts]
    found = {file: Counter(words_in(prose_of(file))) for file in wanted}
    return {file: words for file, words in found.items() if words}


def main() -> None:
    """Print the files with retired words, those with the most first."""
    found = found_in(*(sys.argv[1:] or (*PRODUCT, *DOCUMENTS)))
    for file, words in sorted(found.items(), key=lambda one: -one[1].total()):
        listed = ", ".join(f"{word} {count}" for word, count in words.most_common())
        print(f"{words.total():4} {file.relative_to(ROOT)}: {listed}")
    print(sum(words.total() for words in found.values()), "in all")


if __name__ == "__main__":
    main()
