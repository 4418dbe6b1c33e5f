"""Spanish words and phrases, tagged with their role in a statement."""

from mcp_memory_server.domain.facts.supersession.word_tags import ANYONE, HE, SELF, SHE, Language, Tag

SPANISH = Language(
    contractions={"al": "a", "del": "de"},
    owners={
        SELF: "usuario|usuaria|yo|mi|mis|me",
        SHE: "ella",
        HE: "él",
        ANYONE: "su|sus|ellos|ellas|nosotros|nuestro|nuestra|le|les|se",
    },
    phrases={
        Tag.NUMBER: """dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|doce|veinte|treinta|cuarenta|primero
            primer|segundo curso|tercero|tercer|cuarto|quinto|medio""",
        Tag.TIME: """lunes|martes|miércoles|jueves|viernes|sábado|domingo|enero|febrero|marzo|abril|mayo|junio
            julio|agosto|septiembre|octubre|noviembre|diciembre|mediodía|medianoche|ayer|hoy|semana pasada
            mes pasado|año pasado""",
        Tag.AND: "y|e|o|u|pero|sino|mientras",
        Tag.ARTICLE: "el|la|los|las|un|una|unos|unas|lo",
        Tag.NEW: "nuevo|nueva|nuevos|nuevas",
        Tag.TO: "a",
        Tag.FROM: "de|desde",
        Tag.BY: "por|con",
        Tag.PREPOSITION: "en|para|sin|sobre|entre|cada|como|hacia|contra",
        Tag.SINCE: "desde hace|porque|cuando|donde|que|después|solo|sólo|tras|excepto|si",
        Tag.FILLER: "ya|todavía|aún|siempre|muy|recientemente|este|esta|apenas|finalmente",
        Tag.ALSO: """también|además|otro|otra|otros|otras|segundo|segunda|uno de|una de|a veces|aparte|tampoco
            adicional|asimismo|de vez en cuando""",
        Tag.NOW: "ahora|actualmente|a partir de ahora|de ahora en adelante|hoy en día|en cambio|últimamente",
        Tag.AGAIN: "de nuevo|otra vez|nuevamente",
        Tag.NOT: "no|nunca|jamás|ni|ningún|ninguna",
        Tag.NO_LONGER: "ya no|no más",
        Tag.INSTEAD_OF: "en lugar de|en vez de",
        Tag.STOPPED: """dejó de|ha dejado de|dejó|ha dejado|renunció a|abandonó|fue despedido de
            fue despedida de|se jubiló de|lo despidieron de|la despidieron de""",
        Tag.SOLD: "vendió|ha vendido|regaló",
        Tag.CANCELLED: "se canceló|canceló|cancelado|cancelada|está cancelada|está cancelado|suspendida|suspendido",
        Tag.REPLACED: "reemplazó|sustituyó|ha sustituido|ha reemplazado|cambió el|cambió la",
        Tag.CHANGED: """cambió|ha cambiado|se cambió|se ha cambiado|pasó|ha pasado|subió|bajó|ha subido
            ha bajado|aumentó|se aplazó|aplazó|se pospuso|se adelantó|se retrasó|se movió|migró|ascendió
            fue ascendido|fue ascendida|se amplió|se trasladó|se ha aplazado|se ha pospuesto""",
        Tag.MOVED: "se mudó|se ha mudado|me mudé|se fue a vivir",
        Tag.PAST: """antes|hasta|trabajó|trabajaba|vivió|vivía|nació|creció|fue|era|estuvo|estudió|tenía|tuvo
            murió|anteriormente|compró|viajó|visitó|conocieron|de niño|de niña|iba|fueron""",
        Tag.PLANNED: """quiere mudarse|quiere cambiar|quiere dejar|mudarse|piensa|planea|quizá|quizás|tal vez
            va a|espera|solicitó|se postuló|entrevista|oferta|mañana|pronto|próximo|próxima|podría|sueña
            quisiera|gustaría|considera""",
        Tag.LIMITED: """esta semana|este mes|temporalmente|fines de semana|fin de semana|los sábados
            los domingos|por las tardes|de vacaciones|de visita|por las noches|media jornada|voluntario
            voluntaria|durante""",
        Tag.IS: "es|está|son|están|soy|estoy|es de|sigue siendo",
        Tag.HAS: "tiene|tienen|tengo|ha|han|posee",
        Tag.HOLDS: """usa|utiliza|toma|va|come|bebe|quiere|fuma|duerme|estudia|lee|alquila|necesita|corre|viene
            lleva|va a clase|se acuesta|se levanta""",
        Tag.MANY: """habla|juega|toca|colecciona|aprende|gusta|gustan|encanta|encantan|ama|baila|canta|tiene un
            tiene una|da|enseña|es alérgica|es alérgico|conoce|apoya|cocina""",
        Tag.DISLIKES: "odia|detesta|no le gusta|no le gustan|no soporta",
        Tag.PREFERS: "prefiere|prefieren",
        Tag.AMOUNTS: "pesa|pesan|cuesta|cuestan|gana|mide|asciende|paga|ha ahorrado",
        Tag.LIVES: "vive|viven|vivo|reside",
        Tag.WORKS: "trabaja|trabajo|trabajan",
        Tag.JOINED: "empezó en|empezó a trabajar en|entró en|se incorporó|fue contratada por|fue contratado por",
        Tag.JOBLESS: "desempleado|desempleada|en paro|sin trabajo",
        Tag.CALLED: "se llama|me llamo|llama|llamarse",
        Tag.REPORTS: "reporta",
        Tag.DRIVES: "conduce|maneja",
        Tag.TURNED: "cumplió|ha cumplido",
        Tag.DUE: "vence|termina|acaba|está prevista para|está previsto para|caduca|expira",
        Tag.HAPPENS: "empieza|comienza|se reúne|ensaya|sale|abre|cierra",
        Tag.SINGLE: "soltera|soltero",
        Tag.DATING: "sale con|está saliendo con|sale|novio de",
        Tag.ENGAGED: "comprometida|comprometido|se comprometió",
        Tag.MARRIED: "casada|casado|se casó|se ha casado|casados",
        Tag.PARTED: """divorciada|divorciado|divorciados|separada|separado|rompieron|rompió|se separaron
            se separó|se divorció|se divorciaron|viuda|viudo""",
        Tag.RELATIVE: """hijo|hija|hermano|hermana|niño|niña|bebé|primo|prima|tío|tía|sobrino|sobrina|amigo
            amiga|vecino|vecina|colega|compañero|compañera|nieto|nieta|gato|gata|perro|perra|conejo|caballo
            ahijado|ahijada|mayor|menor|mejor|habitación|piso|casa|cliente|alumno|alumna""",
        Tag.FAVOURITE: "favorito|favorita|preferido|preferida|predeterminado|predeterminada",
    },
    nouns={
        Tag.PERSON: """jefe|jefa
            dentista
            médico de cabecera|médica de cabecera
            casero|casera
            director|directora""",
        Tag.ATTRIBUTE: """nombre|nombre completo
            apellido|apellidos
            apodo
            teléfono|número de teléfono|móvil|celular|número
            correo|correo electrónico|email
            dirección|domicilio
            cumpleaños|fecha de nacimiento
            nacionalidad
            zona horaria
            portátil
            coche|carro
            banco
            sueldo|salario
            alquiler
            peso
            altura
            presupuesto
            objetivo
            navegador
            escuela|colegio""",
        Tag.EVENT: """reunión
            cita
            examen
            lanzamiento
            boda
            fiesta
            vuelo
            operación
            charla""",
        Tag.DEADLINE: "entrega|plazo|fecha límite",
    },
)
