"""Essential facts are recognised in eight languages, and other sentences are not."""

import pytest

from mcp_memory_server.domain.facts.essential_kinds import Essential
from mcp_memory_server.domain.facts.essentials import essential_of

PERSON, DANGER, NOTHING = "person", "danger", "nothing"

SENTENCES: dict[str, list[str]] = {
    DANGER: [
        "Mira is allergic to wasp venom.",
        "The user has a severe shellfish allergy.",
        "User carries an EpiPen since an anaphylactic shock in 2019.",
        "Tom has coeliac disease.",
        "She is lactose intolerant.",
        "Penicillin must never be given to him.",
        "Olu has been vegan for six years.",
        "Sam keeps kosher.",
        "He takes 5 mg of ramipril every evening.",
        "Nadia has epilepsy.",
        "The user does not eat pork.",
        "Robin is pregnant and due in June.",
        "User uses a wheelchair.",
        "Mira ist gegen Hausstaub allergisch.",
        "Er isst kein Fleisch.",
        "Die Nutzerin ist Veganerin.",
        "Jan hat Diabetes Typ 1 und spritzt Insulin.",
        "Lea verträgt keine Laktose.",
        "Sie ist schwanger.",
        "Pablo es alérgico a las nueces.",
        "La usuaria es celíaca.",
        "No come carne de cerdo.",
        "Toma 20 mg de omeprazol cada mañana.",
        "O usuário é alérgico a camarão.",
        "Ela é vegetariana.",
        "Não bebe leite.",
        "L'utilisatrice est allergique aux arachides.",
        "Il ne mange pas de gluten.",
        "Elle est enceinte de cinq mois.",
        "L'utente è allergica alle fragole.",
        "Non mangia carne.",
        "Marco è diabetico.",
        "ユーザーは卵アレルギーがある。",
        "毎朝、血圧の薬を飲んでいる。",
        "彼女は妊娠中です。",
        "用户对花生过敏。",
        "他吃素。",
        "她有哮喘。",
        "His son is allergic to eggs.",
        "Her cat has diabetes.",
    ],
    PERSON: [
        "User's name is Mira Okonkwo.",
        "The user was born on 2 May 1990.",
        "Mira lives in Ghent.",
        "The user moved to Turin in 2021.",
        "She rents a studio flat near the harbour.",
        "Mira works as a sound engineer.",
        "Tom is a retired carpenter.",
        "The user works at a bakery in Cork.",
        "Mira is married to Jon.",
        "Her husband Jon is a gardener.",
        "User has two children, Ida and Nils.",
        "Der Nutzer heißt Jan Vogel.",
        "Jan wohnt in Graz.",
        "Jan arbeitet als Elektriker.",
        "Jan ist mit Eva verheiratet.",
        "El usuario se llama Pablo Ruiz.",
        "Vive en Bilbao con su gata.",
        "Trabaja como enfermero en un hospital.",
        "Su esposa Inés es arquitecta.",
        "A usuária mora em Braga.",
        "Trabalha como tradutora.",
        "L'utilisateur habite à Lyon.",
        "Elle travaille comme vétérinaire.",
        "L'utente si chiama Marco Bassi.",
        "Abita a Torino.",
        "Lavora come cuoco in un ristorante.",
        "ユーザーは横浜に住んでいる。",
        "ユーザーは病院で働いている。",
        "妻の由美さんは教師だ。",
        "用户住在成都。",
        "他在一家银行工作。",
        "丈夫是医生。",
    ],
    NOTHING: [
        "Mira plays the violin in a quartet.",
        "The user prefers trains to planes.",
        "Tom's favourite colour is green.",
        "User wants to learn Portuguese this year.",
        "Mira has a parrot called Coco.",
        "Her brother lives in Oslo.",
        "His boss is a difficult director.",
        "Tom's sister works as a pilot.",
        "The concert was sold out.",
        "User never drinks alone.",
        "Mira reads crime novels.",
        "He is saving for a sailing boat.",
        "The user thinks meetings should be shorter.",
        "The bicycle has a flat tyre.",
        "Jan spielt am Wochenende Handball.",
        "Sein Bruder wohnt in Kiel.",
        "Er mag keine lauten Kneipen.",
        "Pablo colecciona sellos.",
        "Su hermano vive en Madrid.",
        "Le gusta el fútbol.",
        "Ela adora cinema mudo.",
        "Il aime la randonnée.",
        "Son frère habite à Nantes.",
        "Gli piace la montagna.",
        "Suo fratello abita a Roma.",
        "ジャズが好き。",
        "兄は大阪に住んでいる。",
        "明日は大丈夫です。",
        "他喜欢爬山。",
        "哥哥住在上海。",
    ],
}
LEAST_PRECISION, LEAST_RECALL = 0.93, 0.9


def group_of(text: str) -> str:
    kind = essential_of(None, text)
    if kind is None:
        return NOTHING
    return PERSON if kind < Essential.REACTION else DANGER


@pytest.mark.parametrize("wanted", [DANGER, PERSON])
def test_sentences_are_recognised_by_their_words(wanted: str) -> None:
    found = [(text, label) for label, texts in SENTENCES.items() for text in texts if group_of(text) == wanted]
    right = [text for text, label in found if label == wanted]
    precision, recall = len(right) / len(found), len(right) / len(SENTENCES[wanted])
    wrong = [text for text, label in found if label != wanted]
    missed = [text for text in SENTENCES[wanted] if text not in right]

    assert precision >= LEAST_PRECISION, f"{wanted}: precision {precision:.2f}, recall {recall:.2f}; wrong: {wrong}"
    assert recall >= LEAST_RECALL, f"{wanted}: precision {precision:.2f}, recall {recall:.2f}; missed: {missed}"


@pytest.mark.parametrize(
    ("topic", "text", "kind"),
    [
        ("health/allergies", "Bees.", Essential.REACTION),
        ("Gesundheit/Allergien", "Bienen.", Essential.REACTION),
        ("personal/location/city", "Bern", Essential.HOME),
        ("work/employer", "Globex since 2020", Essential.WORK),
        ("仕事/勤務先", "グロベックス", Essential.WORK),
        ("family/spouse", "Jon", Essential.HOUSEHOLD),
        ("profile/full name", "Mira Okonkwo", Essential.NAME),
        ("assistant/style", "Short answers", Essential.MANNER),
        ("health", "Broke a leg in 2020", Essential.HEALTH),
        ("home", "The boiler is new", Essential.HOME_MORE),
        ("work", "Fridays are free of meetings", Essential.WORK_MORE),
        ("identity", "The user is Mira Okonkwo, aged 41, born in Plovdiv.", Essential.NAME),
        (None, "The user is Mira Okonkwo, aged 41.", Essential.NAME),
        (None, "The user is very tall.", None),
        (None, "The user was born on 2 May 1990.", Essential.BORN),
        ("home", "They rent a flat of 80 square metres for 2,150 EUR", Essential.HOME_MORE),
        ("diet", "No meat", Essential.DIET),
        ("family/food", "Her husband eats everything; so does Tomas apart from his allergy.", Essential.DIET_OF_OTHERS),
        ("family", "Her husband does not drink alcohol.", Essential.DIET_OF_OTHERS),
        ("health/medication", "Iron tablets", Essential.CONDITION),
        ("hobbies", "Chess", None),
        ("pets", "Coco is allergic to pollen", Essential.CONDITION_OF_OTHERS),
        ("family", "Ida has asthma", Essential.CONDITION_OF_OTHERS),
    ],
)
def test_a_topic_says_what_a_short_text_does_not(topic: str | None, text: str, kind: Essential | None) -> None:
    assert essential_of(topic, text) is kind


def test_a_danger_to_another_person_is_less_urgent() -> None:
    assert essential_of(None, "Her son is allergic to eggs.") is Essential.REACTION_OF_OTHERS
    assert essential_of(None, "She is allergic to eggs.") is Essential.REACTION


def test_a_potentially_fatal_reaction_is_urgent_whoever_has_it() -> None:
    assert essential_of(None, "Her son is allergic to eggs and carries an EpiPen.") is Essential.REACTION
