"""Whose statements a question asks for."""

import pytest

from mcp_memory_server.domain.recall.documents import ASSISTANT, USER
from mcp_memory_server.domain.recall.question_forms import role_asked_for


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("What is my rent?", USER),
        ("How many books did I say are on my list?", USER),
        ("Wie hoch ist meine Miete?", USER),
        ("¿Cuál es mi color favorito?", USER),
        ("我的猫叫什么?", USER),
        ("私の誕生日は?", USER),
        ("Which hostel did you recommend to me?", ASSISTANT),
        ("I'm going back to our previous chat, what was the ratio?", ASSISTANT),
        ("Was hast du mir empfohlen?", ASSISTANT),
        ("¿Qué restaurante me recomendaste?", ASSISTANT),
        ("Can you summarize what I learned?", None),
        ("Where does Anna live?", None),
        ("", None),
    ],
)
def test_pronouns_and_wording_decide_whose_statements_are_asked_for(question: str, role: str | None) -> None:
    assert role_asked_for(question) == role
