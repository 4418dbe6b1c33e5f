"""The API reference describes the code as it is."""

from tests.project.api_reference import PAGE, exported, page
from tests.project.public_names import PUBLIC_MODULES, public_names


def test_the_committed_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs-api"


def test_the_page_describes_every_public_name() -> None:
    listed = {f"{module}.{name}" for module in PUBLIC_MODULES for name in exported(module)}

    assert listed == {
        f"{module}.{name}" for module in PUBLIC_MODULES for name in public_names(module) if not name.startswith("__")
    }
    text = page()
    assert [name for name in listed if f"### {name.rpartition('.')[2]}\n" not in text] == []
