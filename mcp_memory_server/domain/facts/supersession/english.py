"""English words and phrases, tagged with their role in a statement."""

from mcp_memory_server.domain.facts.supersession.word_tags import HE, SELF, SHE, THEY, Language, Tag

ENGLISH = Language(
    owners={SELF: "user|users|i|me|my", SHE: "she|her|hers", HE: "he|his|him", THEY: "they|their|them|we|our|us"},
    phrases={
        Tag.NUMBER: """one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty
            forty|fifty|first|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|half""",
        Tag.TIME: """monday|tuesday|wednesday|thursday|friday|saturday|sunday|mondays|tuesdays|wednesdays
            thursdays|fridays|saturdays|sundays|january|february|march|april|may|june|july|august|september
            october|november|december|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|noon|midnight|am|pm
            o'clock|today|yesterday|last week|last month|last year|last night|tonight""",
        Tag.AND: "and|or|but|while|nor|&",
        Tag.ARTICLE: "the|a|an",
        Tag.NEW: "new|brand new",
        Tag.TO: "to|into",
        Tag.FROM: "from",
        Tag.BY: "with|by|for",
        Tag.PREPOSITION: """of|in|on|at|towards|near|under|over|than|per|as|via|about|against|through|between
            every|each|within|around|across|inside|outside""",
        Tag.SINCE: """since|as of|after|because|when|where|which|who|whom|whose|so|although|though|only|except
            unless|if|that|following""",
        Tag.FILLER: """just|already|still|it|its|own|ones|this|years ago|ago|really|very|quite|always|usually
            recently|finally|back|some|any|much|account|himself|herself|themselves|fully|officially""",
        Tag.ALSO: """also|too|as well|another|additionally|besides|in addition|both|second|secondary|other
            one of|additional|extra|sometimes|occasionally|on the side|plus|as well as|apart from|some of|among""",
        Tag.NOW: "now|from now on|these days|nowadays|currently|at present|instead|currently at",
        Tag.AGAIN: "again|once more",
        Tag.NOT: """not|no|never|don't|doesn't|isn't|aren't|cannot|can't|without|does not|do not|ain't|neither
            none|did not|didn't""",
        Tag.NO_LONGER: "no longer|any more|anymore|any longer",
        Tag.INSTEAD_OF: "instead of|in place of|rather than",
        Tag.STOPPED: """stopped|quit|has quit|gave up|has given up|dropped|has dropped|left|has left
            resigned from|stepped down as|stepped down from|retired from|has retired from|was laid off by
            laid off by|was fired by|was let go by|got laid off by|lost her job at|lost his job at
            lost the job at|resigned as|dropped out of""",
        Tag.SOLD: "sold|has sold|got rid of|gave away|scrapped|traded in",
        Tag.CANCELLED: """cancelled|canceled|called off|was cancelled|was canceled|is cancelled|is canceled
            has been cancelled|was called off|is off|has been called off""",
        Tag.REPLACED: "replaced|has replaced|swapped|has swapped|traded",
        Tag.CHANGED: """switched|has switched|changed|has changed|was changed|migrated|was migrated|has migrated
            pushed back|was moved|has been moved|been pushed back|has been pushed back|was pushed back|postponed
            was postponed|has been postponed|rescheduled|was rescheduled|has been rescheduled|rebooked
            was rebooked|brought forward|was brought forward|extended|was extended|has been extended|raised
            was raised|lowered|was lowered|increased|was increased|decreased|reduced|was reduced|rose|fell
            went up|went down|has gone up|has gone down|upgraded|was upgraded|has been upgraded|updated
            was updated|promoted|was promoted|got promoted|has been promoted|renamed|was renamed|converted
            transferred|delayed|was delayed|is down to|is up to|bumped|shifted|went over|was raised up|renewed
            was renewed|dropped to|grew""",
        Tag.MOVED: "moved|has moved|moved over|relocated|has relocated",
        Tag.PAST: """used to|worked|lived|resided|was at|was with|was in|were in|was a|was an|was the|grew up
            born|until|till|before|formerly|previously|studied|years ago|taught|in the past|had|once|died
            has died|went to|met|ran|paid|gave|visited|spent|drove|played|as a child|at first|originally
            had been|was""",
        Tag.PLANNED: """will|would|may move|may leave|may change|may be|may go|may buy|may switch|might|plans
            plans to|planning|wants to|wants to move|hopes|hoping|going to|is going to|is about to|thinking of
            thinking about|considering|dreams|interview|applied|applying|offer|wishes|intends|maybe|perhaps
            possibly|probably|could|should|would like|next year|next month|next week|turns|tomorrow|soon
            negotiating|tempted|asked|recommends|recommended|tries|trying|expects|needs to|ought to|has to|aims
            imagines|promised|suggests|suggested|wonders|decided to|is moving|is leaving|is joining|in talks""",
        Tag.LIMITED: """this week|this month|this weekend|for a week|for two weeks|for the summer|for a few
            for now|temporarily|evenings|evening|weekends|weekend|hours a week|days a week|during|visiting
            visits|on holiday|on vacation|staying|at the moment|freelance|freelances|volunteers|volunteer
            secondment|member|trustee|student|part-time|part time|until friday|mornings|nights a week|holiday
            consulting|consults|on loan|sublet|guest""",
        Tag.IS: "is|are|am|has been|be|remains|is still|stays|will be",
        Tag.HAS: "has|have|got|owns|own|keeps|have got|has got",
        Tag.HOLDS: """uses|use|takes|take|goes|go|eats|eat|drinks|drink|wants|want|smokes|smoke|sleeps|commutes
            cycles|runs|run|studies|study|attends|reads|follows|needs|wears|rents|rides|receives|tracks|banks
            votes|gets|hosts|gets up|wakes up|goes to bed|walks|swims|works from home|trains|writes|pays|edits""",
        Tag.MANY: """plays|play|speaks|speak|knows|learns|is learning|collects|supports|likes|like|loves|love
            enjoys|adores|leads|teaches|bought|is allergic to|has a|has an|can|subscribes|watches|listens|cooks
            practises|practices|mentors|serves|runs a|admires|follows|owes|owns|volunteers|maintains|co-owns
            contributes""",
        Tag.DISLIKES: "dislikes|hates|hate|detests|can't stand|doesn't like|does not like|loathes",
        Tag.PREFERS: "prefers|prefer|would rather",
        Tag.AMOUNTS: "costs|cost|weighs|weigh|earns|measures|amounts to|amounts|totals|has saved|stands at|is worth",
        Tag.LIVES: "lives|live|living|has lived|have lived|resides|is based|based|is living",
        Tag.WORKS: "works|work|working|is working|has worked|is employed|employed",
        Tag.JOINED: """joined|has joined|started at|has started at|started working at|started working for
            got a job at|found a job at|was hired by|hired by|began at|took a job at|starts at|started with
            got hired by|started a job at""",
        Tag.JOBLESS: "unemployed|out of work|between jobs|looking for a job|looking for work|jobless",
        Tag.CALLED: """called|named|be called|goes by|known as|to be called
            wants to be called|is called|is named|is known as""",
        Tag.REPORTS: "reports|report",
        Tag.DRIVES: "drives|drive",
        Tag.TURNED: "turned|has turned",
        Tag.DUE: """is due|are due|due|is planned for|is scheduled for|planned for|scheduled for|is set for
            expires|runs until|ends|is valid until|closes on|has to be in by|must be in by|is planned
            is scheduled|runs out""",
        Tag.HAPPENS: """happens|happen|takes place|take place|starts|start|begins|begin|meets|meet|rehearses
            leaves|opens|closes|departs|arrives|is open""",
        Tag.SINGLE: "single|is single|is single again",
        Tag.DATING: "dating|is dating|seeing|is seeing|in a relationship with|together with",
        Tag.ENGAGED: "engaged to|is engaged to|got engaged to|is engaged|got engaged",
        Tag.MARRIED: "married|is married|got married|has married|married to|is married to|got married to",
        Tag.PARTED: """divorced|got divorced|is divorced|are divorced|separated|has separated|broke up
            have broken up|split up|widowed|is widowed|has divorced|have split up|broke off|is separated
            are separated""",
        Tag.RELATIVE: """son|daughter|brother|sister|child|baby|twin|cousin|uncle|aunt|niece|nephew|friend
            neighbour|neighbor|colleague|coworker|grandson|granddaughter|grandchild|sibling|kid|boy|girl|cat|dog
            pet|rabbit|hamster|horse|bird|hen|fish|godson|goddaughter|pupil|client|customer|patient|room|flat
            apartment|house|tenant|course|class|elder|younger|older|eldest|youngest|little|big|best""",
        Tag.FAVOURITE: "favourite|favorite|default|preferred|primary|main",
    },
    nouns={
        Tag.PERSON: """boss
            manager|line manager|supervisor
            dentist
            gp|family doctor
            landlord|landlady
            ceo
            cto
            team lead|team leader
            headmaster|headmistress|headteacher
            accountant
            therapist""",
        Tag.ATTRIBUTE: """name|full name
            surname|last name|family name
            nickname
            phone number|mobile number|cell number|cell phone|telephone number|number|phone|mobile
            email|e-mail|email address|e-mail address
            address|home address
            birthday|date of birth
            employer
            job title|title|position
            nationality
            time zone|timezone
            laptop
            car
            bank
            internet provider|provider
            salary
            rent
            weight
            height
            budget
            goal
            editor
            browser
            headquarters
            school""",
        Tag.EVENT: """meeting
            stand-up|standup
            1:1|one-on-one
            appointment
            interview
            exam
            launch|release
            wedding
            party
            flight
            operation|surgery
            talk""",
        Tag.DEADLINE: "deadline|due date|submission|cutover",
    },
)
