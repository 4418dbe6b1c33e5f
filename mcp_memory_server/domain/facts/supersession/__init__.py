"""Decide by wording whether a short fact updates an earlier one under the same topic.

An update gives a new value to something that has one value at a time: an employer, a deadline, a weight. An addition is
true beside the earlier fact: a second allergy, another pet. In doubt it is an addition, because an update hides the
earlier fact and an addition hides nothing. The rules look at the wording only; what is merely implied is not found.
"""

from mcp_memory_server.domain.facts.supersession import (
    amounts_and_dates,
    endings,
    incomplete_sentences,
    personal_details,
    unspaced,
)
from mcp_memory_server.domain.facts.supersession.reading import Reading, read, says_two_things
from mcp_memory_server.domain.facts.supersession.word_tags import Tag

__all__ = ["SINGLE_VALUED", "is_update"]

SINGLE_VALUED = frozenset(
    name
    for names in (
        "employer|company|workplace|job title|title|position|role|occupation|profession|manager|boss|supervisor",
        "city|town|location|residence|hometown|home city|address|home address|country|postcode|zip code",
        "name|full name|first name|last name|surname|nickname|birthday|date of birth|birthdate|age|height|weight",
        "phone|phone number|mobile|email|email address|marital status|relationship status|nationality|gender|pronouns",
        "time zone|timezone|native language|language|salary|rent|blood type|religion|diet|car|editor|bank|deadline",
        "arbeitgeber|firma|beruf|chef|wohnort|stadt|adresse|anschrift|name|nachname|spitzname|geburtstag|alter|größe",
        "gewicht|telefon|telefonnummer|handynummer|e-mail|familienstand|nationalität|sprache|zeitzone|gehalt|miete|auto",
        "empresa|empleador|puesto|profesión|jefe|jefa|ciudad|dirección|domicilio|nombre|apellido|cumpleaños|edad|altura",
        "peso|teléfono|telefono|correo|estado civil|nacionalidad|idioma|zona horaria|sueldo|alquiler|coche",
        "employeur|entreprise|poste|métier|ville|adresse|nom|prénom|anniversaire|âge|taille|poids|téléphone|courriel",
        "nationalité|langue|salaire|loyer|voiture|勤務先|会社|職業|住所|住まい|名前|誕生日|年齢|身長|体重|電話|電話番号|メール|家賃",
        "公司|单位|职业|城市|住址|地址|姓名|名字|生日|年龄|身高|体重|电话|手机|邮箱|婚姻状况|房租",
    )
    for name in names.split("|")
)
"""Last parts of topics under which a thing has one value at a time. A topic alone is never enough for an update."""

_NEVER_AN_UPDATE = frozenset({Tag.ALSO, Tag.PLANNED})
_NEVER_UPDATED = frozenset({Tag.PAST, Tag.PLANNED})
_NOT_ONLY_PAST = frozenset(
    {Tag.NO_LONGER, Tag.STOPPED, Tag.SOLD, Tag.CANCELLED, Tag.CHANGED, Tag.REPLACED, Tag.MOVED, Tag.DUE}
)
"""Tags that say how things are now although they occur with the past tense."""


def is_update(new: str, old: str, topic: str | None) -> bool:
    """Check whether the new statement supersedes the old one, both being under this topic."""
    is_single = is_single_valued(topic)
    if unspaced.is_unspaced(new) or unspaced.is_unspaced(old):
        return unspaced.is_update(new, old, is_single=is_single)
    if is_single:
        new, old = incomplete_sentences.about_the_user(new, old, topic or "")
    later, earlier = _read(new), _read(old)
    if later is None or earlier is None or later.pieces == earlier.pieces:
        return False
    if is_single and incomplete_sentences.is_another_value(later, earlier, _leaf(topic)):
        return True
    if later.language != earlier.language:
        return False
    if later.tags & _NEVER_AN_UPDATE or earlier.tags & _NEVER_UPDATED:
        return False
    if Tag.PAST in later.tags and not later.tags & _NOT_ONLY_PAST:
        return False
    is_other = _is_over(later, earlier) or _has_other_value(later, earlier, is_single=is_single)
    return is_other and not says_two_things(earlier)


def is_single_valued(topic: str | None) -> bool:
    """Check whether the last part of the topic names something that has one value at a time."""
    if topic is None:
        return False
    leaf = _leaf(topic)
    return leaf.replace("_", " ").replace("-", " ") in SINGLE_VALUED or leaf in SINGLE_VALUED


def _leaf(topic: str | None) -> str:
    return (topic or "").rsplit("/", 1)[-1].strip().lower()


def _read(text: str) -> Reading | None:
    reading = read(text)
    completed = text if reading is None else incomplete_sentences.with_subject(text, reading)
    return reading if completed == text else read(completed)


def _is_over(new: Reading, old: Reading) -> bool:
    return (
        endings.says_it_ended(new, old)
        or endings.says_it_was_replaced(new, old)
        or endings.says_the_opposite(new, old)
        or endings.says_it_was_cancelled(new, old)
        or endings.prefers_the_other_way_round(new, old)
    )


def _has_other_value(new: Reading, old: Reading, *, is_single: bool) -> bool:
    return (
        personal_details.has_moved(new, old, is_single=is_single)
        or personal_details.has_another_job(new, old, is_single=is_single)
        or personal_details.has_another_status(new, old)
        or personal_details.has_another_name(new, old, is_single=is_single)
        or personal_details.has_another_superior(new, old, is_single=is_single)
        or personal_details.drives_another_car(new, old, is_single=is_single)
        or personal_details.is_another_age(new, old)
        or amounts_and_dates.is_another_amount(new, old)
        or amounts_and_dates.is_another_date(new, old)
        or amounts_and_dates.is_another_version(new, old)
        or amounts_and_dates.is_another_attribute(new, old)
        or amounts_and_dates.is_same_frame(new, old, is_single=is_single)
    )
