"""German words and phrases, tagged with their role in a statement."""

from mcp_memory_server.domain.facts.supersession.word_tags import HE, SELF, SHE, THEY, Language, Tag

GERMAN = Language(
    owners={
        SELF: "nutzer|nutzerin|benutzer|benutzerin|ich|mein|meine|meiner|meinem|meinen|mich|mir",
        HE: "er|sein|seine|seinem|seinen|seiner|ihm|ihn",
        SHE: "sie|ihr|ihre|ihrer|ihrem|ihren",
        THEY: "wir|unser|unsere",
    },
    phrases={
        Tag.NUMBER: """eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|dreißig|dritte
            dritten|vierte|vierten|fünften|erste|ersten|halb""",
        Tag.TIME: """montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag|montags|dienstags|mittwochs
            donnerstags|freitags|januar|februar|märz|april|mai|juni|juli|august|september|oktober|november
            dezember|uhr|mittag|mitternacht|letzte woche|letzten monat|gestern|heute|ende|anfang""",
        Tag.AND: "und|oder|aber|sondern|sowie|während",
        Tag.ARTICLE: "der|die|das|den|dem|des|ein|eine|einen|einem|einer|eines",
        Tag.NEW: "neu|neue|neuer|neues|neuen|neuem",
        Tag.TO: "nach|zu|zum|zur|auf",
        Tag.FROM: "von|vom|aus",
        Tag.BY: "durch|gegen",
        Tag.PREPOSITION: """in|im|am|an|ins|beim|bei|mit|für|um|als|zwischen|ohne|ab|über|unter|vor|pro
            jede|jeden|jedes|per""",
        Tag.SINCE: "seit|nachdem|weil|wo|wenn|da|denn|nur|außer|dass|deren|dessen",
        Tag.FILLER: """sich|schon|noch|bereits|immer|sehr|kürzlich|endlich|zurück|worden
            werden|gerade|frisch|wieder einmal""",
        Tag.ALSO: """auch|ebenfalls|außerdem|zusätzlich|noch ein|noch eine|noch einen|weitere|weiterer|weiteren
            weiteres|nebenbei|daneben|zweite|zweiter|zweites|zweiten|eine von|einer von|eines der|einer der
            eine der|manchmal|ab und zu|sowohl|neben|gelegentlich|zudem|unter anderem|andere|anderer""",
        Tag.NOW: """jetzt|nun|inzwischen|mittlerweile|ab sofort|ab jetzt|künftig|derzeit|aktuell|stattdessen
            nur noch|neuerdings|seit kurzem""",
        Tag.AGAIN: "wieder",
        Tag.NOT: "nicht|kein|keine|keinen|keiner|keinem|nie|niemals",
        Tag.NO_LONGER: "nicht mehr|nicht länger|nicht weiter|nie mehr",
        Tag.INSTEAD_OF: "statt|anstatt|anstelle von|anstelle",
        Tag.STOPPED: "gekündigt|aufgehört|aufgegeben|verlassen|ausgetreten|entlassen|abgebrochen|kündigte",
        Tag.SOLD: "verkauft|abgegeben|abgeschafft|verkaufte|verschenkt",
        Tag.CANCELLED: "abgesagt|fällt aus|storniert",
        Tag.REPLACED: "ersetzt|ersetzte|eingetauscht|getauscht",
        Tag.CHANGED: """gewechselt|wechselte|geändert|verschoben|verlegt|vorgezogen|verlängert|erhöht|gesenkt
            gestiegen|gesunken|stieg|sank|umgestellt|umgestiegen|befördert|aktualisiert|umbenannt|migriert
            angehoben|reduziert""",
        Tag.MOVED: "gezogen|umgezogen|zog",
        Tag.PAST: """früher|ehemals|ehemalig|damals|bis|arbeitete|lebte|wohnte|war|waren|aufgewachsen|geboren
            zuvor|davor|hatte|gestorben|starb|hatten|kaufte|kauften|ging|spielte|gewesen|ursprünglich|einst
            studierte|lernte|als kind|vorher""",
        Tag.PLANNED: """will|wollen|wird|würde|plant|überlegt|beworben|bewirbt|vielleicht|eventuell
            möglicherweise|demnächst|bald|möchte nach|irgendwann|verhandelt|vorstellungsgespräch|angebot|soll
            sollte|könnte|hofft|nächstes jahr|nächste woche|nächsten monat|morgen ist|denkt|träumt|wünscht
            empfiehlt|wahrscheinlich""",
        Tag.LIMITED: """diese woche|diesen monat|zurzeit|vorübergehend|am wochenende|samstags|sonntags|abends
            im urlaub|ehrenamtlich|für zwei wochen|für eine woche|auf besuch|zu besuch|nachmittags|stundenweise
            aushilfsweise|minijob|teilzeit|mitglied|urlaub|tage die woche""",
        Tag.IS: "ist|sind|bin|bleibt|hieß es",
        Tag.HAS: "hat|haben|habe|besitzt|wurde|wurden",
        Tag.HOLDS: """benutzt|nutzt|verwendet|nimmt|geht|isst|trinkt|möchte|raucht|schläft|pendelt|läuft
            studiert|besucht|liest|mietet|braucht|kommt|isst kein|trägt|bekommt|bezieht|ist angestellt|steht auf
            geht ins bett""",
        Tag.MANY: """spricht|lernt|sammelt|spielt|mag|liebt|unterrichtet|singt|kann|leitet|hat einen|hat eine
            hat ein|baut|kocht|hört|kennt|ist allergisch|schaut|betreut""",
        Tag.DISLIKES: "hasst|verabscheut|mag nicht|mag kein|mag keine|mag keinen",
        Tag.PREFERS: "bevorzugt|zieht vor",
        Tag.AMOUNTS: "wiegt|kostet|beträgt|betragen|verdient|misst|liegt bei|zahlt|gespart",
        Tag.LIVES: "lebt|wohnt|leben|wohnen|wohne|lebe",
        Tag.WORKS: "arbeitet|arbeite|arbeiten|angestellt|beschäftigt",
        Tag.JOINED: "angefangen|fing an|eingestellt",
        Tag.JOBLESS: "arbeitslos|arbeitssuchend|arbeitssuchende|auf jobsuche",
        Tag.CALLED: "heißt|heiße|genannt|nennt sich",
        Tag.REPORTS: "berichtet an",
        Tag.DRIVES: "fährt|fahre|fahren",
        Tag.TURNED: "geworden|wurde",
        Tag.DUE: "ist fällig|fällig|endet|läuft bis|läuft ab|ist geplant für|geplant für|gilt bis",
        Tag.HAPPENS: "findet|beginnt|beginnen|trifft|probt|startet|öffnet|schließt",
        Tag.SINGLE: "ledig|single|alleinstehend",
        Tag.DATING: "zusammen mit|liiert",
        Tag.ENGAGED: "verlobt",
        Tag.MARRIED: "verheiratet|geheiratet|heiratete",
        Tag.PARTED: "geschieden|getrennt|verwitwet|trennten|trennte",
        Tag.RELATIVE: """sohn|tochter|bruder|schwester|kind|baby|zwilling|cousin|cousine|onkel|tante|nichte
            neffe|freund|freundin|nachbar|nachbarin|kollege|kollegin|enkel|enkelin|katze|kater|hund|hündin
            kaninchen|pferd|vogel|patenkind|kunde|zimmer|wohnung|ältere|jüngere|älterer|jüngerer|beste|bester
            kleine|kleiner|große|großer|schüler|schülerin""",
        Tag.FAVOURITE: "lieblings|bevorzugte|bevorzugter|bevorzugtes",
    },
    nouns={
        Tag.PERSON: """chef|chefin|vorgesetzter|vorgesetzte
            zahnarzt|zahnärztin
            hausarzt|hausärztin
            vermieter|vermieterin
            geschäftsführer|geschäftsführerin
            teamleiter|teamleiterin
            schulleiter|schulleiterin
            steuerberater|steuerberaterin""",
        Tag.ATTRIBUTE: """name|vollständiger name
            nachname|familienname
            spitzname
            handynummer|telefonnummer|telefon|handy|mobilnummer
            email|e-mail|e-mail-adresse|mailadresse|mail
            adresse|anschrift
            geburtstag|geburtsdatum
            arbeitgeber
            nationalität|staatsangehörigkeit
            zeitzone
            laptop
            auto
            bank
            internetanbieter|anbieter
            gehalt
            miete
            gewicht
            größe
            blutdruck
            budget
            ziel
            editor
            browser
            schule""",
        Tag.EVENT: """besprechung|sitzung
            termin
            bewerbungsgespräch
            prüfung
            hochzeit
            feier
            flug
            vortrag
            operation""",
        Tag.DEADLINE: "abgabe|abgabetermin|frist|abgabefrist|stichtag",
    },
)
