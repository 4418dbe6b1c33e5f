"""Facts that answer none of the questions: colleagues, errands, stock and places of other people, in seven languages.

The same number always gives the same fact. Names are none of the personas', and what a line is about is rarely what
is asked about them, so that a larger store is harder to search without holding better answers.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

FIRST = datetime(2025, 9, 1, tzinfo=UTC)
DAYS = 210

FILLERS = {
    "person": (
        "Olga Brandt|Tariq Mansour|Ingrid Solheim|Mateus Prado|Yusuf Demir|Fiona Gallagher|Lars Ekdahl|Wanda Kruk|"
        "Samir Haddad|Chiara Rizzo|Pavel Novotny|Keiko Arai|Bongani Zulu|Siobhan Quinn|Dmitri Volkov|Noor Rahman|"
        "Agnes Kovacs|Tomasz Wilk|Freya Nygaard|Ibrahim Sow|Lucia Ferri|Gunnar Holm|Mei Tanaka|Oskar Lind|Ruth Adler"
    ),
    "company": (
        "Northgate Freight|Halden Optics|Brightmoor Tiles|Cobalt Yards|Ferrum & Sons|Lumen Harbour|Osprey Tools|"
        "Quarry Lane Press|Redfern Mills|Silverbeck Dairy|Tamarack Labs|Velden Rail"
    ),
    "project": (
        "Falcon|Juniper|Monsoon|Bluebird|Granite|Tidewater|Lantern|Compass|Marigold|Redwood|Sandstone|Zephyr|Iceberg"
    ),
    "city": "Tampere|Ostrava|Leeds|Gdansk|Bologna|Tromso|Zagreb|Aarhus|Bergen|Debrecen|Malaga|Plovdiv|Rennes|Turku",
    "thing": (
        "forklift|label printer|cold room|ticket machine|lathe|weather station|loading ramp|server rack|paint booth|"
        "turnstile|ferry gangway|greenhouse pump|film projector|bell tower clock|scoreboard|cable car"
    ),
    "goods": "roof tiles|wool blankets|ball bearings|glass jars|steel cables|paper rolls|solar panels|seed potatoes",
    "part": "scheduler|parser|invoice export|map layer|login page|queue consumer|report builder|cache|search box",
    "fault": "times out|rounds down|loses its order|shows the wrong month|needs a restart|writes twice|drops accents",
    "weekday": "Monday|Tuesday|Wednesday|Thursday|Friday",
    "chore": "count the stock|oil the hinges|check the fire exits|replace the filters|read the meters|paint a door",
}
TEMPLATES = (
    ("work/projects", "{person} presented the figures of project {project} in {city}, page {n}."),
    ("work/tickets", "Ticket {n}: the {part} of {project} {fault}; {person} looks into it."),
    ("work/decisions", "Project {project} keeps its own {part} until release {n}, says {person}."),
    ("work/suppliers", "{company} delivers {n} {goods} to {city} every second {weekday}."),
    ("work/visits", "{person} from {company} inspects the {thing} in {city} and writes report {n}."),
    ("inventory", "The warehouse in {city} holds {n} {goods} for {company}."),
    ("maintenance", "The {thing} at {company} was repaired by {person} for {n} dollars."),
    ("maintenance", "In hall {n} of {company} they {chore} on the first {weekday} of the month."),
    ("contacts", "{person} answers for the {thing} at {company}, extension {n}."),
    ("events", "Exhibition number {n} in {city} shows models of a {thing} and {goods}."),
    ("places", "Platform {n} in {city} is closed while {company} renews the {thing}."),
    ("code", "Commit {n} of {project}: the {part} no longer {fault}."),
    ("people", "{person} collects pictures of every {thing} in {city} and has {n} of them."),
    ("people", "{person} left {company} for a rival in {city} after {n} weeks."),
    ("notizen", "{person} prüft bei {company} in {city} das Lager; Beleg {n} fehlt noch."),
    ("notizen", "Auftrag {n} für Projekt {project} liegt seit {weekday} bei {person}."),
    ("notas", "{person} revisó el almacén de {company} en {city}: faltan {n} cajas."),
    ("notas", "El pedido {n} del proyecto {project} llegará a {city} con retraso."),
    ("notes", "{person} a livré {n} palettes pour {company} à {city}."),
    ("notes", "Le rapport {n} du projet {project} est chez {person}."),
    ("anotações", "{person} conferiu a nota {n} da {company} em {city}."),
    ("メモ", "{person}さんは{city}の倉庫で{company}の箱を{n}個数えた。"),
    ("メモ", "プロジェクト{project}の伝票{n}番は{person}さんが確認中。"),
    ("备注", "{person}在{city}的仓库清点了{company}的{n}箱货物。"),
)


@dataclass(frozen=True)
class Distractor:
    """A fact that nobody asks about. Its topic is its own, so that none supersedes another."""

    text: str
    topic: str
    at: datetime


def distractors(number: int) -> Iterator[Distractor]:
    """Yield so many facts, no two of the same text, in the order of time."""
    draw = random.Random(1)
    choices = {name: values.split("|") for name, values in FILLERS.items()}
    for count in range(number):
        area, template = draw.choice(TEMPLATES)
        fillers = {name: draw.choice(values) for name, values in choices.items()}
        text = template.format(n=count + 11, **fillers)
        yield Distractor(text, f"{area}/{count + 11}", FIRST + timedelta(days=DAYS) * count / number)
