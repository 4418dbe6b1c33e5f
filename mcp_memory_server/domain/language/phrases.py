"""Regular expressions for preferences, corrections, recommendations, greetings and thanks.

English, German and Spanish phrases begin at a word; the Japanese and Chinese ones, under ``…_ELSEWHERE``, match
anywhere. All are for text in NFKC, in lower case, with plain apostrophes and single spaces. The comments name similar
phrases that must not match.
"""

PREFERS = (
    # English; "do I like" asks, "if I like it" waits, "I would like a table" orders
    (
        r"(?<!do )(?<!did )(?<!if )(?<!what )i (?:(?:really|also|absolutely|just|still|usually|strongly|much) )*"
        r"(?:(?:don't|do not|never) )?(?:really )?"
        r"(?:(?:like|love|enjoy)\b(?! (?:it|that|this|your|you|how)\b)|dislike\b|prefer\b|loathe\b|adore\b|avoid\b"
        r"|hate\b(?! to (?:bother|ask|say|interrupt)\b))"
    ),
    r"i (?:\w+ )?(?:can't|cannot|can not) stand\b",
    r"i(?:'d| would) (?:much )?(?:prefer|rather)\b",
    r"(?:i|we) (?:always|never|only|don't|do not|can't|cannot) (?:eat|drink|fly|use|take|buy|wear|work|travel|stay)\b",
    r"(?:i'm|i am|(?:my \w+|he|she|we|they)(?: is| are|'s|'re)) (?:\w+ )?(?:allergic|intolerant|vegan|vegetarian)\b",
    r"my (?:favou?rite|preferred)\b(?!.{0,40}\?)",
    r"(?:please )?(?:always|never) (?:answer|reply|use|write|call|send|include|give|add|show|tell|ask|book|suggest)\b",
    r"(?:from now on|in future|in the future),? \w|call me (?!back|when|at|on|if|later|tomorrow|an?\b)\w",
    # German; "ich möchte einen Tisch" orders
    r"ich (?:\w+ )?(?:mag|liebe|hasse|bevorzuge|vertrage|verabscheue|meide)\b",
    r"ich (?:\w+ ){1,4}(?:lieber|am liebsten)\b|am liebsten (?:\w+ ){1,2}ich\b",
    r"ich (?:esse|trinke|fliege|nehme|nutze|benutze|lese|kaufe) (?:immer|nie|niemals|nur|kein\w*|ungern|gern\w*)\b",
    r"ich bin (?:\w+ )?(?:allergisch|vegan\w*|vegetari\w+)|(?:mein|meine) lieblings\w+",
    r"bitte (?:\w+ )?(?:immer|nie|niemals|nur noch|nicht mehr)\b|(?:ab jetzt|ab sofort|in zukunft|künftig) \w",
    r"nenn mich\b",
    # Spanish; "me gustaría reservar" orders
    r"me (?:gustan?|encantan?|molestan?|disgustan?)\b(?! (?:eso|esto)\b)|prefiero\b|odio\b|detesto\b|no soporto\b",
    r"mis? (?:\w+ ){1,3}(?:favorit|preferid)[oa]s?\b|soy (?:\w+ )?(?:al[eé]rgic|vegan|vegetarian|cel[ií]ac)[oa]\b",
    r"(?:no|nunca|siempre|solo|sólo) (?:como|bebo|tomo|vuelo|uso|viajo|compro)\b",
    r"ll[aá]mame (?!cuando|si|a las|luego)\w",
    r"(?:a partir de ahora|de ahora en adelante),? \w|por favor,? (?:siempre|nunca)\b",
)
PREFERS_ELSEWHERE = (
    # Japanese; "何が好きですか" asks, "好きにして" leaves it open
    r"(?<!お)(?:好き|嫌い|大好物)(?!です(?:か|よね)|でしょうか|でしたか|なの(?:です)?か|な.{1,8}(?:何|か[?。])|に(?:して|し)|[?])",
    r"(?:苦手|好み)(?!です(?:か|よね)|でしょうか|な.{0,8}か|[?])",
    r"アレルギー(?!で(?:は|も)?(?:ありません|ない)|.{0,6}か[?。]?$)",
    r"の(?:方|ほう)が(?:いい|良い)(?!です(?:か|よね)|でしょうか|[?])|派です(?!か)",
    r"(?:食べ|飲み|飲め|食べられ)(?:ません|ない)(?!か)",
    r"ベジタリアンです(?!か)|ヴィーガンです(?!か)|(?:今後|これから)は|と呼んで|(?:必ず|絶対に|いつも).{1,20}ください",
    # Chinese; "我喜欢什么" asks
    (
        r"我(?:真的?|也|还|还是|一直|都|很|最|更|比较|非常|特别|超|其实|從來|从来)*(?:不太?|不怎么|并不)?"
        r"(?:喜欢|喜歡|讨厌|討厭|偏好|偏爱|偏愛|爱吃|愛吃|爱喝|愛喝|受不了|宁愿|寧願)(?!.{0,6}(?:什么|什麼|哪|谁|吗|嗎))"
    ),
    r"我(?:对|對).{1,15}(?:过敏|過敏)(?!吗|嗎)|我(?:不|只|从不|從不|从来不|總是|总是)(?:吃|喝|坐|用)|我(?:吃素|是素食)",
    r"(?:叫|称呼|稱呼)我|(?:以后|以後)(?:请|請|都|不要|别|別)|从现在起|從現在起",
    r"(?:请|請)(?:总是|總是|始终|始終|不要再|别再|別再)",
)
CORRECTS = (
    # English; "that's not wrong" and "what's wrong" are no corrections, "no, that's all" is an answer
    r"i (?:meant|didn't (?:say|mean|ask)|did not (?:say|mean|ask))\b|no, i said\b|correction:|^wrong[,.!]",
    (
        r"(?:that's|that is|this is|it's|it is|you're|you are) "
        r"(?:wrong|incorrect|mistaken|not (?:quite )?(?:right|correct|true|what i))\b"
    ),
    r"(?:that|it|this) (?:isn't|wasn't) (?:quite )?(?:right|correct|true|what i)\b",
    r"you (?:misunderstood|got (?:it|that|me) wrong)\b",
    r"it should (?:be|have been) (?!fine|ok|good|possible|enough|easy)\w",
    r"(?:^|[.!] )(?:no|sorry|wait|well)?[ ,.!]*actually[, ] ?(?:it|i|my|the|that|not|we|make)\b",
    (
        r"(?:^|[.!] )(?:no|nope|sorry)\b[ ,.!:-]+(?:it's|it is|it was|that's|the|my|not|on|at|make it) "
        r"(?!all|fine|ok\b|okay|it\b|good|enough|great|alright|yet|really|at all|now|problem|necessary)\w"
    ),
    r"(?:it's|it is|it was) (?:\w+ ){0,4}?\w+, not (?!yet|really|only|just)\w",
    # German; "nicht nur … sondern auch" adds, "das stimmt" agrees
    r"ich meinte\b|ich meine doch\b",
    r"(?:das (?:stimmt|ist)|^stimmt) (?:\w+ )?(?:nicht(?! (?:schlimm|schlecht|nötig|wichtig))|falsch)\b",
    r"^falsch\b|falsch verstanden|missverstanden|korrektur:|nicht (?!nur\b).{1,40}, sondern\b",
    r"das (?:habe|hab) ich nicht\b",
    (
        r"(?:^|[.!] )(?:nein|nee|ne|doch|moment)\b[ ,.!:-]+(?:es|das|der|die|mein|meine|nicht|am|um|eigentlich) "
        r"(?!reicht|passt|geht|danke|war(?:'s| es)|ist (?:alles|gut|ok)|nötig|mehr)\w"
    ),
    # Spanish; "no, es todo" is an answer
    r"(?:quise|quer[ií]a) decir\b|me refer[ií]a\b|me refiero a\b|te equivocas|te equivocaste|me equivoqu[eé]\b",
    r"correcci[oó]n:",
    r"(?:no es|no era|no est[aá]) (?:correcto|cierto|as[ií]|bien|lo que)\b|est[aá] mal\b|no (?:dije|ped[ií])\b",
    r"no .{1,40},? sino (?!tambi[eé]n)\w|(?:^|[.!] )(?:no,? )?en realidad\b",
    r"(?:^|[.!] )(?:no|perd[oó]n)[,.!]+ (?:es|era|son|el|la|los|las|mi|mis) (?!todo|suficiente|verdad)\w",
)
CORRECTS_ELSEWHERE = (
    # Japanese; "間違いない" agrees, "だけではなく" adds, "違いますか" asks
    r"違います(?!か)|違うよ|違う(?:[、。,!]|$)|そうじゃな|間違(?!い(?:な|あり|ござ))(?!.{0,8}か[?。]?$)|訂正",
    r"(?<!だけ)(?<!だけで)(?:じゃ|では)なく|と言いたかった|(?:という|って)意味(?:です|だ)|と言った(?:の|ん|はず)",
    r"^(?:いいえ|いえ|いや)[、,。 ]+(?!結構|大丈夫|いり|要り|不要|あり|まだ|いい|特に).{1,30}(?:です|だ)[。!]*$",
    # Chinese; "不错" and "没错" agree, "对不对" and "是不是" ask
    r"(?<!对)(?<!對)不(?:对|對)(?!称|稱|起|吗|嗎)|(?<![没沒不])(?:错|錯)(?:了(?!吗|嗎|过|過)|误|誤)",
    r"(?:搞|弄|说|說|写|寫)(?:错|錯)|不正确|不正確",
    r"(?<!是)不是.{1,20}(?:而是|,是)|我(?:的意思)?是(?:说|說|指)|我的意思是|我指的是|(?:更正|纠正|糾正)",
    r"(?:应该|應該)是(?!.{0,10}[吗嗎?])",
    r"^不(?:是)?,(?!用|要|谢|謝|需)",
)
RECOMMENDS = (
    r"i(?:'d| would)? (?:\w+ )?(?:recommend|suggest|advise)\b|my (?:recommendation|suggestion|advice)\b",
    r"(?:i'd|i would) go (?:with|for)\b",
    r"(?:you should|you could|you might want to|you may want to|you'd better|why not|why don't you) \w|how about \w",
    r"consider \w+ing\b",
    r"ich (?:\w+ )?(?:empfehle|schlage|rate|würde|empfähle) .{0,80}?(?:vor\b|empfehlen|nehmen|wählen|raten)",
    r"ich empfehle\b",
    r"(?:du solltest|sie sollten|du könntest|sie könnten|wie wäre es mit|wie wär's mit|meine empfehlung)\b",
    r"(?:te|le|les|os) (?:recomiendo|sugiero|aconsejo)\b|(?:recomiendo|sugiero|aconsejo|recomendar[ií]a)\b",
    r"(?:deber[ií]as?|podr[ií]as?|qu[eé] tal si|mi recomendaci[oó]n)\b",
)
RECOMMENDS_ELSEWHERE = (
    r"(?:おすすめ|お勧め|オススメ|推奨)(?!.{0,8}か[?。]?$)(?!.{0,6}(?:教えて|ください|ある))",
    r"(?:のは|ては|では)いかが|(?:する|した|の)(?:と|ほうが|方が)(?:いい|良い)(?:です|でしょう|と思)",
    r"(?:我|我们)?(?:推荐|推薦|建议|建議)(?:您|你|选|選|使用|先|去|用|在|试|試)",
    r"(?:您|你)(?:可以|不妨|最好|应该|應該)(?:试|試|考虑|考慮|先|选|選|去|用)",
)

GREETS = (
    r"hi+|hello+|hey+|hiya|howdy|yo|good (?:morning|afternoon|evening|day|night)|greetings|bye(?: bye)?|goodbye",
    r"see you(?: later| soon)?",
    r"how are you(?: doing)?(?: today)?|how's it going|what's up|nice to meet you|how can i help(?: you)?(?: today)?",
    r"there|everyone",
    r"hallo|servus|moin(?: moin)?|grüezi|grüss (?:gott|dich)|guten (?:tag|morgen|abend)|gute nacht|tschüss",
    r"auf wiedersehen",
    r"wie geht(?:'s| es (?:dir|ihnen))|zusammen|wie kann ich (?:dir|ihnen) helfen",
    r"hola|buenos días|buenos dias|buenas(?: (?:tardes|noches))?|qué tal|que tal|cómo estás|como estas|adiós|adios",
    r"hasta luego",
    r"en qué puedo ayudarte(?: hoy)?|こんにち[はわ]|こんばん[はわ]|おはよう(?:ございます)?|はじめまして|初めまして",
    r"もしもし|やあ|さようなら",
    r"お疲れ様です|お元気ですか|よろしくお願いします|何かお手伝いできますか|你好(?:吗|啊|呀)?|您好|嗨|哈[喽啰]",
    r"早(?:上好|安)?|下午好|晚上好|晚安|再[见見]|拜拜|大家好",
    r"在[吗嗎]|👋",
)
ACKNOWLEDGES = (
    r"(?:many )?thanks?(?: (?:you|a lot|so much|very much|again|for (?:that|this|your help|the help)))*|thx|ty",
    r"cheers|much appreciated",
    r"ok+(?:ay)?|k|sure|alright|all right|got it|i see|understood|makes sense|sounds good|yes|yeah|yep|right|exactly",
    r"correct|perfect",
    r"great|good|nice|cool|fine|awesome|wonderful|excellent|no problem|you're welcome|you are welcome|noted|will do",
    r"done|please|(?:that's|that is|it's) (?:right|great|fine|good|perfect|all|ok|okay)",
    r"danke(?: (?:dir|ihnen|schön|sehr))?|(?:vielen|besten|herzlichen) dank|alles klar|verstanden|genau|ja|jo|passt",
    r"perfekt|prima|super|gut|in ordnung|(?:das )?stimmt|bitte(?: schön)?|gerne?|klar|einverstanden|toll",
    r"(?:muchas |mil )?gracias|vale|de acuerdo|entendido|perfecto|genial|sí|si|claro|muy bien|bien|listo|estupendo",
    r"de nada|correcto|exacto|por favor",
    r"(?:どうも)?ありがとう(?:ございま(?:す|した))?|どうも|はい|うん|ええ|了解(?:です|しました|いたしました)?",
    r"(?:わか|分か|判)りました|承知(?:しました|いたしました|です)?|オッケー|okです|なるほど|いいですね|その通りです",
    r"助かりま(?:す|した)|どういたしまして|間違いありません",
    r"好(?:的|吧|呀|啊|了)?|(?:非常)?[谢謝]{2}(?:你|您|啦|了)?|多[谢謝]|感[谢謝]|明白了?|知道了|收到|可以|行|嗯+",
    r"[没沒][错錯]|[对對]的?|不[错錯]|太好了|[没沒][问問][题題]|了解了?|懂了|不客[气氣]",
    r"[👍🙏👌✅❤]\ufe0f?",
)
COURTESIES = (
    # Thanks, good wishes and farewells, which say nothing even after a question
    r"(?:many )?thanks?(?: (?:you|a lot|so much|very much|again|for (?:that|this|your help|the help)))*|thx|ty|cheers",
    r"you're welcome|you are welcome|no (?:problem|worries)|my pleasure|any ?time|much appreciated|happy to help",
    r"take care(?: of yourself)?|welcome back|bye for now|cya|later|you too|and you|i will",
    r"(?:talk|speak|chat|write)(?: to you)? (?:soon|later|tomorrow)|until (?:then|next time)|keep (?:it up|in touch)",
    r"(?:i'll )?(?:see|catch) (?:you|ya)(?: (?:then|around|tomorrow|soon|later|next (?:time|week)))?|stay safe",
    r"have (?:a )?(?:good|great|nice|lovely|safe|wonderful|fun)(?: (?:day|night|evening|weekend|week|one|time|trip))?",
    r"(?:good|best of) luck|(?:safe|good) (?:travels|trip)|congrat(?:s|ulations)|well done|fingers crossed",
    r"danke(?: (?:dir|ihnen|schön|sehr))?|(?:vielen|besten|herzlichen) dank|gern geschehen|keine ursache|kein problem",
    r"mach'?s? gut|pass auf dich auf|bis (?:bald|später|dann|morgen|nachher|zum nächsten mal)|ebenso",
    r"sch(?:ö|oe)ne[ns]? (?:tag|abend|woche|wochenende|urlaub)(?: noch)?|gute (?:reise|besserung)",
    r"viel (?:erfolg|glück|spaß)|(?:dir|ihnen|euch) auch|herzlichen glückwunsch",
    r"(?:muchas |mil )?gracias|de nada|sin problema|igualmente|cuídate|chao|felicidades|(?:buena|mucha) suerte|suerte",
    r"hasta (?:pronto|mañana|la vista|la próxima|otra)|nos vemos(?: (?:luego|pronto|mañana))?|ánimo",
    r"(?:que tengas |que pases )?(?:un )?(?:buen|feliz|lindo) (?:día|viaje|fin de semana)",
    r"(?:どうも)?ありがとう(?:ございま(?:す|した))?|どういたしまして|助かりま(?:す|した)|お疲れ様でした|お大事に|おめでとう(?:ございます)?",
    r"(?:じゃあ|では)?(?:ね|また(?:ね|明日|今度|後で)?)|気をつけて(?:ください)?|頑張って(?:ください)?",
    r"(?:非常)?[谢謝]{2}(?:你|您|啦|了)?|多[谢謝]|感[谢謝]|不客[气氣]|(?:回头|回頭|明天|下次)[见見]|保重|加油|恭喜|祝你好运|一路平安",
)
REACTIONS = (
    # Agreement and surprise, which may answer a question; "me too" and "same here" say something
    r"agreed|i agree|absolutely|definitely|totally|of course|for sure|sure thing|deal|can do|fair enough|so true",
    r"sounds (?:good|great|perfect|fun|like a plan)(?: to me)?|that makes sense|interesting|amazing|lovely",
    r"glad to hear(?: (?:that|it))?|wow|oh|ah|aha|hm+|mhm|(?:ha){2,}|lol|so|well",
    r"natürlich|selbstverständlich|auf jeden fall|abgemacht|freut mich|sehr (?:gut|schön)|oje|ach so|jawohl",
    r"klingt gut|wunderbar|großartig|schade|finde ich auch",
    r"por supuesto|desde luego|trato hecho|qué (?:bien|bonito|bueno|pena)|excelente|maravilloso",
    r"すごい(?:です)?ね?|(?:それは)?(?:よか|良か)った(?:です)?ね?|いいね|もちろん(?:です)?|そうです(?:ね|か)|へえ|わあ|楽しみです",
    r"当然|當然|没事|沒事|(?:哈){2,}|同意|真棒|太棒了|哇",
)
