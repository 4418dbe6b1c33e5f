# ruff: noqa: RUF001 (Chinese punctuation is meant)
"""Notes and questions about everyday matters in eight languages, from which a model's mean vectors are computed.

They are made of templates and lists of words, always the same ones, and are about nobody.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

PASSAGES_PER_TEMPLATE = 4
QUESTIONS_PER_TEMPLATE = 5

_STEPS = (17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
"""How far each list of words moves on with each sentence: primes longer than the lists, so that no word is left out."""


@dataclass(frozen=True)
class Language:
    """Templates of a language, and the words that are put in for each letter in braces."""

    passages: str
    questions: str
    words: dict[str, str]

    def notes(self) -> list[str]:
        """Return what might be noted about somebody. ``topic: text`` and bare text take turns in the templates."""
        return list(dict.fromkeys(self._filled(self.passages, PASSAGES_PER_TEMPLATE)))

    def asked(self) -> list[str]:
        """Return what might be asked about somebody."""
        return list(dict.fromkeys(self._filled(self.questions, QUESTIONS_PER_TEMPLATE)))

    def _filled(self, templates: str, times: int) -> Iterator[str]:
        lists = {letter: words.split("|") for letter, words in self.words.items()}
        numbers = count()
        for template in templates.strip().splitlines():
            for _ in range(times):
                number = next(numbers)
                chosen = {
                    letter: words[number * step % len(words)]
                    for step, (letter, words) in zip(_STEPS, lists.items(), strict=False)
                }
                yield template.strip().format(**chosen)


ENGLISH = Language(
    passages="""
        {n} works as {j} in {c}.
        work/employer: {n} left the job in {c} and is now {j}.
        {n} likes {f} and drinks {d} every morning.
        food: {n} cannot stand {f} and is allergic to nuts.
        User prefers short answers without introductions.
        preferences/style: The user writes {l} and wants the replies in {l} too.
        {n} was born in {y} and grew up in {c}.
        family: {n} has two children and a brother who lives in {c}.
        {n} spends the weekends with {h}.
        hobbies: After work the user goes in for {h}, mostly with {n}.
        The meeting with {n} was moved to {w} at half past ten.
        appointments: Dentist on {w} at nine, then lunch with {n}.
        {n} bought {t} last {w} and is happy with it.
        devices: The old {t} broke, so a new one is on its way from {c}.
        The flight to {c} leaves on {w} evening.
        travel: In {y} the user went to {c} by train and stayed for three weeks.
        The backup runs on {w}; the password is kept by {n}.
        project: The team decided to rewrite the report before {w}.
        {n} has had trouble sleeping since {y} and takes a tablet in the evening.
        health/doctor: {n} has a check-up with the doctor in {c} on {w}.
        The rent is paid on the first of the month, the insurance in {y}.
        home: The flat in {c} has three rooms, a balcony and a leaking tap.
    """,
    questions="""
        What does {n} do for a living?
        Where did {n} live in {y}?
        which food does the user like
        when is the appointment on {w}
        Does {n} know anybody in {c}?
        favourite drink
        How should I answer the user?
        {n}'s hobbies and free time
        What happened to the {t}?
        Who is going to {c} with {n}?
        plans for {w}
        Is there anything I should know about the health of {n}?
    """,
    words={
        "n": "Maria|Tom|Aisha|Kenji|Olga|the user|Peter|her sister|my boss|Samuel|Ines|a neighbour|his father",
        "c": "Oslo|Chicago|Nairobi|Madrid|Osaka|Toronto|Prague|Mumbai|Melbourne|Lima",
        "j": "a teacher|an electrician|a lawyer|a software developer|a cook|a librarian|a bus driver|a biologist",
        "f": "pizza|spicy noodles|fresh fish|apple pie|goat cheese|lentil soup|mushrooms",
        "d": "black coffee|green tea|orange juice|a glass of milk|sparkling water",
        "h": "climbing|chess|old films|gardening|the violin|cycling|pottery|football|bird watching",
        "w": "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday",
        "y": "1984|1991|2003|2012|2019|2024",
        "t": "laptop|washing machine|camera|bicycle|phone|headphones|car",
        "l": "English|French|Polish|Arabic|Korean",
    },
)

GERMAN = Language(
    passages="""
        {n} arbeitet in {c} als {j}.
        Arbeit: {n} hat die Stelle in {c} gekündigt und fängt {w} neu an.
        {n} isst gern {f} und trinkt morgens {d}.
        Essen: {n} mag keine Pilze, aber {f} gibt es jede Woche.
        Der Nutzer möchte kurze Antworten ohne Einleitung.
        Vorlieben: Bitte immer auf {l} antworten und keine Abkürzungen verwenden.
        {n} wurde {y} in {c} geboren.
        Familie: {n} hat zwei Kinder und einen Bruder, der in {c} wohnt.
        Am Wochenende geht es bei {n} meistens um {h}.
        Freizeit: {n} macht seit {y} in einem Verein mit, es geht um {h}.
        Die Besprechung mit {n} ist auf {w} um halb elf verschoben.
        Termine: {w} um neun zum Zahnarzt, danach Mittagessen mit {n}.
        {n} hat {w} {t} gekauft und ist zufrieden damit.
        Geräte: Für {t} gibt es noch Garantie bis Ende des Jahres.
        Der Zug nach {c} fährt {w} am Abend.
        Reisen: {y} war der Nutzer drei Wochen lang in {c}.
        Die Datensicherung läuft {w}, das Kennwort hat {n}.
        Projekt: Das Team schreibt den Bericht bis {w} neu.
        {n} schläft seit {y} schlecht und nimmt abends eine Tablette.
        Wohnung: Die Wohnung in {c} hat drei Zimmer, einen Balkon und einen tropfenden Hahn.
    """,
    questions="""
        Was macht {n} beruflich?
        Wo hat {n} im Jahr {y} gewohnt?
        Lieblingsessen des Nutzers
        Wann ist der Termin am {w}?
        Kennt {n} jemanden in {c}?
        Wie soll ich antworten?
        Hobbys von {n}
        Was ist mit {t} passiert?
        Wer fährt mit {n} nach {c}?
        Gibt es etwas zur Gesundheit von {n}?
    """,
    words={
        "n": "Anna|Jürgen|Fatma|der Nutzer|Lukas|ihre Schwester|mein Chef|Sabine|sein Vater|Emil|eine Nachbarin",
        "c": "Köln|Wien|Zürich|Leipzig|Hamburg|Graz|München",
        "j": "Lehrkraft|Ärztin|Tischler|Buchhalterin|Koch|Informatikerin|Gärtner|Pflegekraft",
        "f": "Kartoffelsuppe|Nudeln|Apfelkuchen|Fisch|Käsebrot",
        "d": "schwarzen Kaffee|Kräutertee|Apfelsaft|ein Glas Milch",
        "h": "Wandern|Schach|alte Filme|den Garten|Klavier|Radfahren|Fußball|Stricken|Modelleisenbahnen",
        "w": "Montag|Dienstag|Mittwoch|Donnerstag|Freitag|Samstag|Sonntag",
        "y": "1978|1990|2005|2014|2021",
        "t": "ein Fahrrad|die Kamera|das Telefon|eine Waschmaschine|der Rechner|ein Auto",
        "l": "Deutsch|Englisch|Türkisch|Französisch",
    },
)

SPANISH = Language(
    passages="""
        {n} trabaja en {c} desde {y}.
        trabajo: {n} dejó su puesto en {c} y ahora es {j}.
        A {n} le gusta {f} y por la mañana toma {d}.
        comida: {n} no come carne, pero {f} le encanta.
        El usuario prefiere respuestas breves y sin introducción.
        preferencias: Hay que contestar siempre en {l}.
        {n} nació en {c} en {y}.
        familia: {n} tiene dos hijos y un hermano que vive en {c}.
        Los fines de semana {n} se dedica a {h}.
        aficiones: Desde {y} el usuario practica {h} con {n}.
        La reunión con {n} se ha cambiado al {w} a las diez y media.
        citas: El {w} a las nueve, dentista; después, comida con {n}.
        {n} compró {t} el {w} y está contento.
        aparatos: Se estropeó {t} y todavía está en garantía.
        El vuelo a {c} sale el {w} por la noche.
        viajes: En {y} el usuario pasó tres semanas en {c}.
        La copia de seguridad se hace el {w} y la clave la guarda {n}.
        proyecto: El equipo quiere terminar el informe antes del {w}.
        {n} duerme mal desde {y} y toma una pastilla por la noche.
        casa: El piso de {c} tiene tres habitaciones y un grifo que gotea.
    """,
    questions="""
        ¿A qué se dedica {n}?
        ¿Dónde vivía {n} en {y}?
        comida favorita del usuario
        ¿Cuándo es la cita del {w}?
        ¿Conoce {n} a alguien en {c}?
        ¿Cómo debo contestar?
        aficiones de {n}
        ¿Qué pasó con {t}?
        ¿Quién viaja a {c} con {n}?
        ¿Hay algo sobre la salud de {n}?
    """,
    words={
        "n": "Lucía|Javier|el usuario|Carmen|su hermana|mi jefe|Mateo|la vecina|Rosa|su padre|Diego",
        "c": "Valencia|Bogotá|Quito|Sevilla|Montevideo|Monterrey|Bilbao",
        "j": "profesor|enfermera|abogada|cocinero|contable|programadora|jardinero",
        "f": "la tortilla|el pescado|la sopa de lentejas|el arroz con pollo|el queso",
        "d": "café solo|té verde|zumo de naranja|un vaso de leche",
        "h": "la escalada|el ajedrez|el cine antiguo|la jardinería|la guitarra|el ciclismo|la cerámica|el fútbol",
        "w": "lunes|martes|miércoles|jueves|viernes|sábado|domingo",
        "y": "1982|1995|2007|2016|2022",
        "t": "una bicicleta|la cámara|el teléfono|la lavadora|un ordenador|el coche",
        "l": "español|inglés|catalán|portugués",
    },
)

FRENCH = Language(
    passages="""
        {n} travaille à {c} depuis {y}.
        travail : {n} a quitté son poste à {c} pour devenir {j}.
        {n} aime {f} et boit {d} le matin.
        repas : {n} ne mange pas de viande, mais adore {f}.
        L'utilisateur préfère des réponses courtes, sans introduction.
        préférences : Il faut toujours répondre en {l}.
        {n} est né à {c} en {y}.
        famille : {n} a deux enfants et un frère qui habite à {c}.
        Le week-end, {n} se consacre à {h}.
        loisirs : Depuis {y}, l'utilisateur s'intéresse à {h} avec {n}.
        La réunion avec {n} est reportée à {w}, dix heures et demie.
        rendez-vous : Dentiste {w} à neuf heures, puis déjeuner avec {n}.
        {n} a acheté {t} {w} et en est content.
        appareils : Il faut réparer {t}, encore sous garantie.
        Le train pour {c} part {w} soir.
        voyages : En {y}, l'utilisateur a passé trois semaines à {c}.
        La sauvegarde se fait {w} et {n} garde le mot de passe.
        projet : L'équipe veut finir le rapport avant {w}.
        {n} dort mal depuis {y} et prend un comprimé le soir.
        logement : L'appartement de {c} a trois pièces et un robinet qui fuit.
    """,
    questions="""
        Quel est le métier de {n} ?
        Où habitait {n} en {y} ?
        plat préféré de l'utilisateur
        À quelle heure est le rendez-vous de {w} ?
        Est-ce que {n} connaît quelqu'un à {c} ?
        Comment faut-il répondre ?
        les loisirs de {n}
        Qu'est-il arrivé à {t} ?
        Qui va à {c} avec {n} ?
        Que sait-on de la santé de {n} ?
    """,
    words={
        "n": "Camille|Antoine|l'utilisateur|Nadia|sa sœur|mon chef|Louis|la voisine|Chloé|son père|Hugo",
        "c": "Lyon|Genève|Montréal|Nantes|Bruxelles|Dakar|Lille",
        "j": "professeur|infirmière|avocate|cuisinier|comptable|développeuse|jardinier",
        "f": "la soupe de légumes|le poisson|la tarte aux pommes|le fromage de chèvre|les pâtes",
        "d": "un café noir|du thé vert|un jus d'orange|un verre de lait",
        "h": "l'escalade|la lecture|la cuisine|la musique|la poterie|la photo|la marche|la peinture",
        "w": "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche",
        "y": "1979|1993|2006|2015|2020",
        "t": "un vélo|la machine à laver|un téléphone|la caméra|un ordinateur|la voiture",
        "l": "français|anglais|italien|néerlandais",
    },
)

ITALIAN = Language(
    passages="""
        {n} lavora a {c} dal {y}.
        lavoro: {n} ha lasciato il posto a {c} e ora fa {j}.
        A {n} piace {f} e la mattina beve {d}.
        cibo: {n} non mangia carne, ma adora {f}.
        L'utente preferisce risposte brevi e senza introduzione.
        preferenze: Bisogna rispondere sempre in {l}.
        {n} è nato a {c} nel {y}.
        famiglia: {n} ha due figli e un fratello che vive a {c}.
        Nel fine settimana {n} si dedica a {h}.
        tempo libero: Dal {y} l'utente segue {h} insieme a {n}.
        La riunione con {n} è stata spostata a {w} alle dieci e mezza.
        appuntamenti: Dentista {w} alle nove, poi pranzo con {n}.
        {n} ha comprato {t} {w} ed è contento.
        apparecchi: Si è rotto qualcosa in casa, {t} è ancora in garanzia.
        Il treno per {c} parte {w} sera.
        viaggi: Nel {y} l'utente ha passato tre settimane a {c}.
        Il backup si fa {w} e la password la conserva {n}.
        progetto: La squadra vuole finire la relazione entro {w}.
        {n} dorme male dal {y} e prende una pastiglia la sera.
        casa: L'appartamento di {c} ha tre stanze e un rubinetto che perde.
    """,
    questions="""
        Che lavoro fa {n}?
        Dove abitava {n} nel {y}?
        piatto preferito dell'utente
        A che ora è l'appuntamento di {w}?
        {n} conosce qualcuno a {c}?
        Come devo rispondere?
        passatempi di {n}
        Che cosa è successo con {t}?
        Chi va a {c} con {n}?
        C'è qualcosa sulla salute di {n}?
    """,
    words={
        "n": "Giulia|Marco|l'utente|Francesca|sua sorella|il mio capo|Luca|la vicina|Elena|suo padre|Paolo",
        "c": "Torino|Bologna|Palermo|Trieste|Napoli|Lugano|Bari",
        "j": "l'insegnante|l'infermiera|l'avvocato|il cuoco|la contabile|il programmatore|il giardiniere",
        "f": "la pizza|il pesce|la zuppa di lenticchie|la torta di mele|il formaggio",
        "d": "un caffè|del tè verde|una spremuta|un bicchiere di latte",
        "h": "l'arrampicata|la lettura|il giardinaggio|la musica|la ceramica|il ciclismo|la pittura|il calcio",
        "w": "lunedì|martedì|mercoledì|giovedì|venerdì|sabato|domenica",
        "y": "1981|1994|2004|2013|2023",
        "t": "una bicicletta|la lavatrice|il telefono|una macchina fotografica|il computer|l'automobile",
        "l": "italiano|inglese|tedesco|spagnolo",
    },
)

PORTUGUESE = Language(
    passages="""
        {n} trabalha em {c} desde {y}.
        trabalho: {n} deixou o emprego em {c} para ser {j}.
        {n} gosta muito de {f} e de manhã toma {d}.
        comida: {n} não come carne, mas não dispensa {f}.
        O usuário prefere respostas curtas e sem introdução.
        preferências: É preciso responder sempre em {l}.
        {n} nasceu em {c} em {y}.
        família: {n} tem dois filhos e um irmão que mora em {c}.
        No fim de semana {n} pratica {h}.
        lazer: Desde {y} o usuário faz {h} com {n}.
        A reunião com {n} passou para {w} às dez e meia.
        compromissos: Dentista na {w} às nove, depois almoço com {n}.
        {n} comprou {t} na {w} e está satisfeito.
        aparelhos: Quebrou {t}, mas ainda está na garantia.
        O voo para {c} sai na {w} à noite.
        viagens: Em {y} o usuário passou três semanas em {c}.
        A cópia de segurança é feita na {w} e a senha fica com {n}.
        projeto: A equipe quer terminar o relatório até {w}.
        {n} dorme mal desde {y} e toma um comprimido à noite.
        casa: O apartamento em {c} tem três quartos e uma torneira pingando.
    """,
    questions="""
        Qual é a profissão de {n}?
        Onde {n} morava em {y}?
        comida preferida do usuário
        A que horas é o compromisso de {w}?
        {n} conhece alguém em {c}?
        Como devo responder?
        passatempos de {n}
        O que aconteceu com {t}?
        Quem vai para {c} com {n}?
        Há algo sobre a saúde de {n}?
    """,
    words={
        "n": "Beatriz|João|o usuário|Mariana|a irmã dela|meu chefe|Rafael|a vizinha|Teresa|o pai dele|Miguel",
        "c": "Porto|Salvador|Curitiba|Coimbra|Maputo|Belém|Braga",
        "j": "professor|enfermeira|advogada|cozinheiro|contador|programadora|jardineiro",
        "f": "peixe|sopa de lentilhas|bolo de maçã|queijo|arroz com feijão",
        "d": "café preto|chá verde|suco de laranja|um copo de leite",
        "h": "escalada|xadrez|jardinagem|violão|ciclismo|cerâmica|futebol|pintura",
        "w": "segunda-feira|terça-feira|quarta-feira|quinta-feira|sexta-feira",
        "y": "1980|1996|2008|2017|2021",
        "t": "a bicicleta|a câmera|o telefone|a máquina de lavar|o computador|o carro",
        "l": "português|inglês|espanhol|francês",
    },
)

JAPANESE = Language(
    passages="""
        {n}は{c}で{j}として働いている。
        仕事: {n}は{y}年に{c}の会社を辞めた。
        {n}は{f}が好きで、毎朝{d}を飲む。
        食べ物: {n}はきのこが苦手だが、{f}はよく食べる。
        ユーザーは前置きのない短い答えを希望している。
        好み: 返事はいつも{l}でお願いします。
        {n}は{y}年に{c}で生まれた。
        家族: {n}には子どもが二人と、{c}に住む弟がいる。
        週末、{n}はたいてい{h}をして過ごす。
        趣味: {y}年から{n}と一緒に{h}を続けている。
        {n}との打ち合わせは{w}の十時半に変更になった。
        予定: {w}の九時に歯医者、そのあと{n}と昼食。
        {n}は{w}に{t}を買って、満足している。
        機器: {t}が壊れたが、まだ保証期間内だ。
        {c}行きの新幹線は{w}の夜に出る。
        旅行: {y}年に{c}で三週間過ごした。
        バックアップは{w}に行い、パスワードは{n}が管理している。
        プロジェクト: チームは{w}までに報告書を書き直す。
        {n}は{y}年から眠りが浅く、夜に薬を飲んでいる。
        住まい: {c}の部屋は三部屋で、蛇口から水が漏れている。
    """,
    questions="""
        {n}の仕事は何ですか
        {y}年に{n}はどこに住んでいましたか
        好きな食べ物
        {w}の予定は何時ですか
        {n}は{c}に知り合いがいますか
        どのように返事をすればいいですか
        {n}の趣味
        {t}はどうなりましたか
        {n}と{c}へ行くのは誰ですか
        {n}の健康について
    """,
    words={
        "n": "田中さん|美咲|ユーザー|鈴木さん|妹|上司|健太|隣の人|由美子|父|高橋さん",
        "c": "大阪|札幌|福岡|名古屋|仙台|神戸|京都",
        "j": "教師|看護師|弁護士|料理人|会計士|プログラマー|図書館員",
        "f": "うどん|焼き魚|カレー|りんご|味噌汁",
        "d": "コーヒー|緑茶|オレンジジュース|牛乳",
        "h": "登山|将棋|映画鑑賞|園芸|ピアノ|サイクリング|陶芸|サッカー",
        "w": "月曜日|火曜日|水曜日|木曜日|金曜日|土曜日|日曜日",
        "y": "1983|1997|2005|2014|2020",
        "t": "自転車|カメラ|電話|洗濯機|パソコン|車",
        "l": "日本語|英語|韓国語|中国語",
    },
)

CHINESE = Language(
    passages="""
        {n}在{c}当{j}。
        工作：{n}{y}年辞掉了在{c}的工作。
        {n}喜欢吃{f}，每天早上喝{d}。
        饮食：{n}不吃蘑菇，但是常吃{f}。
        用户希望回答简短，不要开场白。
        偏好：请一直用{l}回答。
        {n}{y}年出生在{c}。
        家庭：{n}有两个孩子，还有一个住在{c}的弟弟。
        周末{n}一般去{h}。
        爱好：从{y}年起和{n}一起{h}。
        和{n}的会议改到{w}十点半。
        日程：{w}九点看牙医，然后和{n}吃午饭。
        {n}{w}买了{t}，很满意。
        设备：{t}坏了，还在保修期内。
        去{c}的火车{w}晚上出发。
        旅行：{y}年在{c}住了三个星期。
        备份在{w}进行，密码由{n}保管。
        项目：团队要在{w}之前重写报告。
        {n}从{y}年起睡得不好，晚上要吃药。
        住房：{c}的房子有三个房间，水龙头漏水。
    """,
    questions="""
        {n}做什么工作？
        {y}年{n}住在哪里？
        用户喜欢的食物
        {w}的约会是几点？
        {n}在{c}认识谁吗？
        应该怎样回答？
        {n}的爱好
        {t}怎么了？
        谁和{n}一起去{c}？
        {n}的身体怎么样？
    """,
    words={
        "n": "王芳|李明|用户|张伟|她的姐姐|我的老板|小刚|邻居|陈静|他的父亲|赵磊",
        "c": "上海|成都|广州|西安|台北|杭州|青岛",
        "j": "老师|护士|律师|厨师|会计|程序员|园丁",
        "f": "面条|清蒸鱼|苹果|豆腐|饺子",
        "d": "咖啡|绿茶|橙汁|牛奶",
        "h": "爬山|下棋|看电影|种花|弹钢琴|骑车|做陶艺|踢足球",
        "w": "星期一|星期二|星期三|星期四|星期五|星期六|星期天",
        "y": "1982|1995|2006|2015|2021",
        "t": "自行车|相机|电话|洗衣机|电脑|汽车",
        "l": "中文|英文|日文|法文",
    },
)

OTHERS: Sequence[Language] = (GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, JAPANESE, CHINESE)
LANGUAGES: Sequence[Language] = (ENGLISH, *OTHERS)
