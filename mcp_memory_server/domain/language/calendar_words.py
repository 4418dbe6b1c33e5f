"""Names of months, days and periods in English, German, Spanish, Japanese and Chinese."""

from collections.abc import Sequence
from typing import Literal

Unit = Literal["day", "week", "month", "year"]


def _numbered(rows: Sequence[str], *, start: int) -> dict[str, int]:
    return {name: number for number, names in enumerate(rows, start) for name in names.split()}


MONTHS = _numbered(
    (
        "january jan januar enero",
        "february feb februar febrero",
        "march mar märz marzo",
        "april apr abril",
        "may mai mayo",
        "june jun juni junio",
        "july jul juli julio",
        "august aug agosto",
        "september sep sept septiembre",
        "october oct oktober octubre",
        "november nov noviembre",
        "december dec dezember diciembre",
    ),
    start=1,
)
WEEKDAYS = _numbered(
    (
        "monday montag lunes",
        "tuesday dienstag martes",
        "wednesday mittwoch miércoles",
        "thursday donnerstag jueves",
        "friday freitag viernes",
        "saturday samstag sonnabend sábado",
        "sunday sonntag domingo",
    ),
    start=0,
)
NUMBERS = _numbered(
    (
        "a an one ein einer einem eine un una",
        "two zwei dos couple",
        "three drei tres few",
        "four vier cuatro",
        "five fünf cinco",
        "six sechs seis",
        "seven sieben siete",
        "eight acht ocho",
        "nine neun nueve",
        "ten zehn diez",
        "eleven elf once",
        "twelve zwölf doce",
    ),
    start=1,
)
UNITS: dict[str, Unit] = {
    **dict.fromkeys(["day", "days", "tag", "tage", "tagen", "día", "días"], "day"),
    **dict.fromkeys(["week", "weeks", "woche", "wochen", "semana", "semanas"], "week"),
    **dict.fromkeys(["month", "months", "monat", "monate", "monaten", "mes", "meses"], "month"),
    **dict.fromkeys(["year", "years", "jahr", "jahre", "jahren", "año", "años"], "year"),
}
UNIT_SIGNS: dict[str, Unit] = {
    **dict.fromkeys(["日", "天"], "day"),
    **dict.fromkeys(["週間", "周", "星期"], "week"),
    **dict.fromkeys(["か月", "ヶ月", "カ月", "个月"], "month"),
    **dict.fromkeys(["年"], "year"),
}
DAYS_BACK = {
    **dict.fromkeys(("today", "heute", "hoy", "今日", "今天"), 0),
    **dict.fromkeys(("yesterday", "last night", "gestern", "ayer", "anoche", "昨日", "昨天"), 1),
    **dict.fromkeys(("day before yesterday", "vorgestern", "anteayer", "一昨日", "前天"), 2),
}
NAMED_PERIODS: dict[str, tuple[Unit, int]] = {
    **dict.fromkeys(("this week", "diese woche", "esta semana", "今週", "本周", "这周"), ("week", 0)),
    **dict.fromkeys(("last week", "letzte woche", "la semana pasada", "先週", "上周"), ("week", 1)),
    **dict.fromkeys(("this month", "diesen monat", "este mes", "今月", "这个月"), ("month", 0)),
    **dict.fromkeys(("last month", "letzten monat", "el mes pasado", "先月", "上个月"), ("month", 1)),
    **dict.fromkeys(("this year", "dieses jahr", "este año", "今年"), ("year", 0)),
    **dict.fromkeys(("last year", "letztes jahr", "el año pasado", "去年", "昨年"), ("year", 1)),
}
"""The unit of each named period, and how many units ago it was."""
