"""French words and phrases, tagged with their role in a statement."""

from mcp_memory_server.domain.facts.supersession.word_tags import ANYONE, HE, SELF, SHE, Language, Tag

FRENCH = Language(
    contractions={"aux": "à", "au": "à"},
    owners={
        SELF: "utilisateur|utilisatrice|je|mon|ma|mes|j",
        SHE: "elle",
        HE: "il",
        ANYONE: "son|sa|ses|leur|leurs|nous|notre|nos|ils|elles|on|lui",
    },
    phrases={
        Tag.NUMBER: """deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|vingt|trente
            quarante|premier|première|demi""",
        Tag.TIME: """lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|janvier|février|mars|avril|mai|juin
            juillet|août|septembre|octobre|novembre|décembre|midi|minuit|hier|semaine dernière|mois dernier""",
        Tag.AND: "et|ou|mais|ni|tandis",
        Tag.ARTICLE: "le|la|les|l|un|une|des|du",
        Tag.NEW: "nouveau|nouvelle|nouvel",
        Tag.TO: "à|en",
        Tag.FROM: "de|d|depuis chez",
        Tag.BY: "par|avec",
        Tag.PREPOSITION: "dans|pour|chez|sur|sans|via|contre|sous|chaque|comme|entre",
        Tag.SINCE: "depuis|que|où|qui|parce|quand|après|si|seulement",
        Tag.FILLER: "déjà|encore|toujours|très|récemment|y|s|ce|cette|enfin",
        Tag.ALSO: """aussi|également|en plus|autre|deuxième|second|seconde|l un|l une|un de
            une de|parfois|en outre|de plus""",
        Tag.NOW: "maintenant|désormais|dorénavant|actuellement|à la place|à présent",
        Tag.AGAIN: "de nouveau|à nouveau",
        Tag.NOT: "ne|n|pas|jamais|aucun|aucune",
        Tag.NO_LONGER: "ne plus|n est plus|plus",
        Tag.INSTEAD_OF: "au lieu de|à lieu de|plutôt que",
        Tag.STOPPED: """a arrêté de|a arrêté|a quitté
            a démissionné de|a abandonné|a été licencié de|a été licenciée de""",
        Tag.SOLD: "a vendu|a donné",
        Tag.CANCELLED: "annulé|annulée|est annulé|est annulée|a été annulé|a annulé",
        Tag.REPLACED: "a remplacé",
        Tag.CHANGED: """est passé|est passée|a changé|a été reporté|a été reportée|a été repoussé
            a été repoussée|a augmenté|a baissé|a été prolongé|a été avancé|avancé|reporté|reportée|repoussé
            repoussée|prolongé|a migré|a été promue|a été promu""",
        Tag.MOVED: "a déménagé|s est installé|s est installée",
        Tag.PAST: """avant|jusqu|travaillait|habitait|a travaillé|a habité|a vécu|était|étaient|né|née|est né
            est née|mort|morte|auparavant|autrefois|ancien|ancienne|a grandi|avait|a acheté""",
        Tag.PLANNED: """aimerait|voudrait|peut-être|envisage|va|vont|prochain|prochaine|bientôt|demain|compte
            pense|entretien|candidature|pourrait|espère|projette|rêve|souhaite""",
        Tag.LIMITED: """cette semaine|ce mois|week-end|temporairement|en vacances|pendant
            en visite|le soir|bénévole|mi-temps""",
        Tag.IS: "est|sont|suis|c est",
        Tag.HAS: "a|ont|ai|possède",
        Tag.HOLDS: "utilise|prend|mange|boit|veut|fume|dort|étudie|lit|loue|porte|vient|se lève|se couche",
        Tag.MANY: "parle|joue|aime|adore|apprend|collectionne|est allergique|a un|a une|enseigne|peut|chante",
        Tag.DISLIKES: "déteste|n aime pas",
        Tag.PREFERS: "préfère|préfèrent",
        Tag.AMOUNTS: "pèse|coûte|coûtent|gagne|mesure|paie|s élève",
        Tag.LIVES: "habite|habitent|vit|vivent|réside",
        Tag.WORKS: "travaille|travaillent",
        Tag.JOINED: "a rejoint|a commencé chez|a été embauché par|a été embauchée par|a commencé à travailler chez",
        Tag.JOBLESS: "au chômage|à chômage|sans emploi",
        Tag.CALLED: "appelle|s appelle|se nomme",
        Tag.REPORTS: "dépend",
        Tag.DRIVES: "conduit|roule",
        Tag.TURNED: "a eu|vient d avoir|a fêté",
        Tag.DUE: "est à rendre|est prévu pour|est prévue pour|expire|se termine|prend fin",
        Tag.HAPPENS: "commence|a lieu|se réunit|part|ouvre|ferme|répète",
        Tag.SINGLE: "célibataire",
        Tag.DATING: "sort avec",
        Tag.ENGAGED: "fiancé|fiancée",
        Tag.MARRIED: "marié|mariée|s est marié|s est mariée|mariés",
        Tag.PARTED: "divorcé|divorcée|séparé|séparée|séparés|ont rompu|a rompu|divorcés",
        Tag.RELATIVE: """fils|fille|frère|sœur|enfant|bébé|cousin|cousine|oncle|tante|neveu|nièce|ami|amie
            voisin|voisine|collègue|chat|chatte|chien|chienne|lapin|cheval|filleul|filleule|aîné|aînée|cadet
            cadette|meilleur|meilleure|chambre|appartement|maison|client|élève""",
        Tag.FAVOURITE: "préféré|préférée|favori|favorite",
    },
    nouns={
        Tag.PERSON: """patron|patronne|chef|cheffe
            dentiste
            médecin traitant
            propriétaire
            directeur|directrice""",
        Tag.ATTRIBUTE: """nom|nom complet
            nom de famille
            surnom
            numéro|numéro de téléphone|téléphone|portable
            email|courriel|mail|adresse mail|adresse email
            adresse
            anniversaire|date de naissance
            nationalité
            fuseau horaire
            ordinateur
            voiture
            banque
            salaire
            loyer
            poids
            taille
            budget
            objectif
            navigateur
            école""",
        Tag.EVENT: """réunion
            rendez-vous
            examen
            lancement
            mariage
            fête
            vol
            opération""",
        Tag.DEADLINE: "échéance|date limite|remise",
    },
)
