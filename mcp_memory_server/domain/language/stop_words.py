"""Stop words of each language, and words that are only used to ask a memory something."""

ENGLISH = "english"

_WORDS = {
    ENGLISH: """
    a about all also am an and any are as at be been being but by can could did do does doing done for from had
    has have having he her hers him his how i if in into is it its itself just me my mine myself no nor not of
    on or our ours out over own she should so some such than that the their theirs them then there these they
    this those to too under until up us very was we were what when where which while who whom whose why will
    with would you your yours d ll m re s t ve aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren
    won wouldn
    """,
    "german": """
    aber als am an auch auf aus bei bin bis bist da das dass dein deine dem den der des die dir dich du ein eine
    einem einen einer eines er es euch für habe haben hat hatte ich ihm ihn ihr ihre im in ist ja kann kein
    keine man mein meine meinem meinen meiner mich mir mit nach nicht noch nur ob oder sein seine sich sie sind
    so um und uns unser vom von vor wann war warum was welche welchen welcher welches wem wen wenn wer wie wir
    wird wo woher wohin zu zum zur über
    """,
    "spanish": """
    a al algo como cómo con cuál cuáles cuándo cuánto cuántos de del desde donde dónde el ella ellos en entre
    era es esta está este esto estoy fue ha han hasta hay la las le les lo los me mi mis muy más ni no nos o
    para pero por porque que qué quién quiénes se ser si sin sobre soy son su sus también te tengo ti tiene tu
    tus un una y ya yo él
    """,
    "french": """
    ai as au aux avec c ce ces cette comment d dans de des du elle en es est et eu il ils j je l la le les leur
    lui m ma mais me mes moi mon n ne nos notre nous on ou où par pas pour qu quand que quel quelle quelles
    quels qui s sa se ses son sont suis sur t ta te tes toi ton tu un une vos votre vous y à été être
    """,
    "italian": """
    a ai al alla anche c che chi ci come con cosa cui d da dal dei del della delle di dove e è era gli ha hai
    hanno ho i il in io l la le lei lo loro lui ma mi mia mie miei mio nei nel nella noi non o per perché più
    quale quali quando quanto questa questo sei si sono su sua sue sul suo ti tra tu tua tuo un una uno vi
    """,
    "portuguese": """
    a ao aos as até com como da das de do dos e é ela ele eles em entre era essa esse esta este eu foi há isso
    já lhe mais mas me meu meus minha minhas muito na nas não nem no nos nós o onde os ou para pela pelo por
    porque qual quais quando quanto que quem se sem ser seu seus são sou sua suas também te tem tenho teu tu tua
    um uma você
    """,
}
STOP_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
STOP_SIGNS = frozenset("不与个么也了什他们何你俺僕及吗吧呢和哪啊在她它就您我是有的着私誰谁过这那都")

# Words of asking, which seldom name what is asked for: "Can you remind me of the order in which I brought up ..."
_OF_ASKING = """
    conversation conversations chat chats discussion discussions discussed talked talking session sessions
    previous previously earlier remind reminded remember recall mention mentioned tell told said say list order
    brought bring aspect aspects throughout across summary summarize summarise overview comprehensive complete
    wondering wondered wanted confirm clarify follow walk items only give different looking going thinking back
    let know share shared total between please thanks help think suggestion suggestions suggest recommend
    recommendations recommended tips ideas advice question ask asked anything something everything gespräch
    gespräche unterhaltung erinnere erinnerst erinnern erwähnt gesagt erzählt zusammenfassung reihenfolge bitte
    weißt empfehlen vorschläge frage conversación conversaciones recuerda recuerdas recuérdame mencioné
    mencionaste dije dijiste dime resumen orden favor recomiendas sugerencias pregunta
"""
ASKING = frozenset(_OF_ASKING.split())
