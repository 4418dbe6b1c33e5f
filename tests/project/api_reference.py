"""Write docs/api.md from the signatures and docstrings of the public names: ``python -m tests.project.api_reference``.

The sources are parsed and not imported, so the page is the same with every version of Python and without any extra.
A documentation tool is not used: griffe and pdoc describe modules, while this page follows `Memory` to its services.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tests.project.public_names import PUBLIC_MODULES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "api.md"
LONGEST_LINE = 110

INTRODUCTION = """\
# API reference

Made by `make docs-api` from the sources. Import names from the modules below and from nowhere else; everything
else may change without notice. Types that are only returned are listed at the end and need no import.
"""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = Function | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Found:
    """A definition, and the module it is in."""

    module: str
    name: str
    node: Definition


@cache
def parsed(module: str) -> ast.Module:
    """Return the syntax tree of a module of ours."""
    path = ROOT / Path(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def definitions(module: str) -> dict[str, Definition]:
    """Return what a module defines at its top level, by name."""
    found: dict[str, Definition] = {}
    for node in parsed(module).body:
        if isinstance(node, ast.ClassDef | Function):
            found[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node for target in targets if isinstance(target, ast.Name)}
    return found


@cache
def imports(module: str) -> dict[str, tuple[str, str]]:
    """Return the module and name that a module imports from our packages, by the name it has here."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(parsed(module))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PUBLIC_MODULES
        for alias in node.names
    }


def find(module: str, name: str) -> Found | None:
    """Return the definition of a name that a module defines or imports; None if it is not ours."""
    if (node := definitions(module).get(name)) is not None:
        return Found(module, name, node)
    origin = imports(module).get(name)
    return None if origin is None else find(*origin)


def exported(module: str) -> list[str]:
    """Return the names in ``__all__`` of a module, without dunder names."""
    listed = definitions(module)["__all__"]
    assert isinstance(listed, ast.Assign)
    return [name for name in ast.literal_eval(listed.value) if not name.startswith("__")]


def signature(node: Function, *, name: str | None = None, returns: bool = True) -> str:
    """Return the signature as in the source, without ``self``; on several lines if it is long."""
    arguments = [text for text in _arguments(node.args) if text not in ("self", "cls")]
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    result = f" -> {_annotation(node.returns)}" if returns and node.returns is not None else ""
    line = f"{prefix}{name or node.name}({', '.join(arguments)}){result}"
    if len(line) <= LONGEST_LINE:
        return line
    listed = "".join(f"    {argument},\n" for argument in arguments)
    return f"{prefix}{name or node.name}(\n{listed}){result}"


def _arguments(args: ast.arguments) -> Iterator[str]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(args.defaults)), *args.defaults]
    for argument, default in zip(positional, defaults, strict=True):
        yield _argument(argument, default)
    if args.vararg is not None:
        yield "*" + _argument(args.vararg, None)
    elif args.kwonlyargs:
        yield "*"
    for argument, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _argument(argument, default)
    if args.kwarg is not None:
        yield "**" + _argument(args.kwarg, None)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg if argument.annotation is None else f"{argument.arg}: {_annotation(argument.annotation)}"
    equals = "=" if argument.annotation is None else " = "
    return text if default is None else text + equals + ast.unparse(default)


def _annotation(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ast.unparse(node)


def docstring(text: str | None) -> str:
    """Return a docstring as Markdown."""
    lines: list[str] = []
    in_section = False
    for line in (text or "").replace("``", "`").splitlines():
        if line in ("Raises:", "Args:", "Returns:"):
            lines.append(f"{line}\n")
            in_section = True
        elif in_section and (entry := re.match(r" {4}(\w+): (.*)", line)):
            lines.append(f"- `{entry[1]}`: {entry[2]}")
        elif in_section and line.startswith("        "):
            lines[-1] += " " + line.strip()
        else:
            in_section = in_section and not line
            lines.append(line)
    return "\n".join(lines).strip()


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def describe(found: Found) -> str:
    """Return the section of one public name."""
    node = found.node
    if isinstance(node, Function):
        parts = [_code(_decorated(node)), docstring(ast.get_docstring(node))]
    elif isinstance(node, ast.ClassDef):
        parts = _class_parts(node)
    else:
        parts = [docstring(_text_after(found))]
    return "\n\n".join([f"### {found.name}", *filter(None, parts)])


def _text_after(found: Found) -> str:
    """Return the string that follows an assignment, which is its documentation."""
    body = parsed(found.module).body
    following = body[body.index(found.node) + 1 : body.index(found.node) + 2]
    for node in following:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return textwrap.dedent(node.value.value)
    return ""


def _class_parts(node: ast.ClassDef) -> list[str]:
    bases = {_annotation(base) for base in node.bases}
    parts: list[str] = []
    if initializer := _method(node, "__init__"):
        parts.append(_code(signature(initializer, name=node.name, returns=False)))
    parts.append(docstring(ast.get_docstring(node)))
    if initializer:
        parts.append(docstring(ast.get_docstring(initializer)))
    if bases & {"StrEnum", "Enum"}:
        values = [ast.unparse(each.value) for each in node.body if isinstance(each, ast.Assign)]
        names = [ast.unparse(each.targets[0]) for each in node.body if isinstance(each, ast.Assign)]
        parts.append("\n".join(f"- `{name}` = `{value}`" for name, value in zip(names, values, strict=True)))
    elif any(_described_field(each) for each in _fields(node)):
        parts.append("\n".join(filter(None, map(_described_field, _fields(node)))))
    elif fields := [ast.unparse(each) for each in _fields(node)]:
        parts.append(_code("\n".join(fields)))
    for method in node.body:
        if isinstance(method, Function) and not method.name.startswith("_"):
            parts += [_code(_decorated(method)), docstring(ast.get_docstring(method))]
    return parts


def _described_field(field: ast.AnnAssign) -> str:
    """Return a line about a field that has a description, as settings have."""
    if not isinstance(field.value, ast.Call) or ast.unparse(field.value.func) != "Field":
        return ""
    given = {keyword.arg: keyword.value for keyword in field.value.keywords}
    default = f" (`{ast.unparse(given['default'])}`)" if "default" in given else ""
    return f"- `{ast.unparse(field.target)}`{default}: {ast.literal_eval(given['description'])}"


def _fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        each
        for each in node.body
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith(("_", "model_config"))
    ]


def _method(node: ast.ClassDef, name: str) -> Function | None:
    return next((each for each in node.body if isinstance(each, Function) and each.name == name), None)


def _decorated(method: Function) -> str:
    decorators = {_annotation(decorator) for decorator in method.decorator_list}
    kept = [
        f"@{name}\n"
        for name in ("asynccontextmanager", "contextmanager", "property", "classmethod", "staticmethod")
        if name in decorators
    ]
    return "".join(kept) + signature(method)


def services() -> list[tuple[str, Found]]:
    """Return the services of `Memory` by the attribute that they are reached by."""
    memory = find("mcp_memory_server", "Memory")
    assert memory is not None
    assert isinstance(memory.node, ast.ClassDef)
    named: list[tuple[str, str]] = []
    for each in memory.node.body:
        if isinstance(each, ast.AnnAssign):
            named.append((ast.unparse(each.target), _annotation(each.annotation)))
        elif isinstance(each, Function) and each.returns is not None:
            named.append((each.name, _annotation(each.returns).partition(" ")[0]))
    found = [(attribute, find(memory.module, name)) for attribute, name in named if attribute != "table"]
    return [(attribute, service) for attribute, service in found if service is not None]


def returned_types(documented: Sequence[Found]) -> list[Found]:
    """Return the classes of ours that occur in signatures and fields of documented ones, and in theirs in turn."""
    seen = {(found.module, found.name): found for found in documented}
    waiting, added = list(documented), dict[str, Found]()
    while waiting:
        one = waiting.pop(0)
        for name in _annotated_names(one.node):
            found = find(one.module, name)
            if found is None or not isinstance(found.node, ast.ClassDef) or (found.module, found.name) in seen:
                continue
            seen[found.module, found.name] = found
            if _is_value(found.node):
                added[f"{found.name} {found.module}"] = found
                waiting.append(found)
    return [found for _, found in sorted(added.items())]


def _is_value(node: ast.ClassDef) -> bool:
    decorators = {_annotation(each).partition("(")[0] for each in node.decorator_list}
    return "dataclass" in decorators or "StrEnum" in {_annotation(base) for base in node.bases}


def _annotated_names(node: Definition) -> Iterator[str]:
    functions: list[Function] = []
    if isinstance(node, Function):
        functions = [node]
    elif isinstance(node, ast.ClassDef):
        public = (each for each in node.body if isinstance(each, Function))
        functions = [each for each in public if not each.name.startswith("_") or each.name == "__init__"]
        for field in _fields(node):
            yield from re.findall(r"\w+", _annotation(field.annotation))
    for function in functions:
        everything = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        for annotation in (*(argument.annotation for argument in everything), function.returns):
            if annotation is not None:
                yield from re.findall(r"\w+", _annotation(annotation))


def page() -> str:
    """Return the whole page."""
    parts, documented = [INTRODUCTION.strip()], list[Found]()
    for module in PUBLIC_MODULES:
        parts.append(f"## {module}")
        parts.append(docstring(ast.get_docstring(parsed(module))).partition("\n\n")[0])
        for name in exported(module):
            found = find(module, name)
            assert found is not None, f"{module}.{name}"
            documented.append(found)
            parts.append(describe(found))
        if module == "mcp_memory_server":
            parts.append("## The services of Memory")
            for attribute, service in services():
                documented.append(service)
                assert isinstance(service.node, ast.ClassDef)
                without_init = [each for each in service.node.body if each is not _method(service.node, "__init__")]
                methods = ast.ClassDef(service.name, service.node.bases, [], without_init, [])
                parts.append("\n\n".join([f"### memory.{attribute}", *filter(None, _class_parts(methods))]))
    parts.append("## Returned types")
    parts += [describe(found) for found in returned_types(documented)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
