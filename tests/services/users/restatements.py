"""Labelled pairs: a forgotten fact, sentences that say the same in other words, and sentences that do not.

The sentences are those of users and assistants. Every second group chose the thresholds of
`domain.recall.restatements`; the others measure them.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Restatements:
    """A fact, what gives it away, and what is near it and does not."""

    fact: str
    same: tuple[str, ...]
    other: tuple[str, ...]


_GROUPS = """
The user was diagnosed with HIV in March.
+ I was diagnosed with HIV in March and I have not told my family yet.
+ I am sorry to hear about the HIV diagnosis.
+ Since the HIV diagnosis I take two tablets every morning.
- I have to book the dentist in March.
- My sister works in a hospital.
- The weather in March was awful.

Ana Silva is pregnant with her second child.
+ I'm pregnant again, it will be our second child!
+ Congratulations on the pregnancy!
+ Remember that I'm pregnant, so no sushi.
- My first child starts school in September.
- Please book a table for two.
- The second chapter is too long.

The user earns 84,000 euros a year.
+ My salary is 84,000 euros a year before tax.
+ With 84,000 a year you are above the average of your region.
+ I make 84k a year.
- The flat costs 1,400 euros a month.
- How much tax do people pay in Austria?
- The project lasts a year.

The user is getting divorced from Markus.
+ Markus and I are getting a divorce.
+ I am sorry that you and Markus are divorcing.
+ The divorce from Markus is not final yet.
- Markus from accounting sent the invoice.
- We celebrated our wedding anniversary in May.
- I am getting a new phone.

The user was convicted of drunk driving in 2019.
+ In 2019 I got a conviction for drunk driving.
+ A conviction for drunk driving has to be named in the form.
+ I was caught driving drunk in 2019 and convicted.
- I learned driving in 2019.
- We drank a lot of tea.
- The train to Graz leaves at 20:19.

The user takes sertraline for depression.
+ I've been on sertraline for my depression since spring.
+ Sertraline can make you tired in the first weeks.
+ Does sertraline go together with ibuprofen?
- I take the bus to work.
- I have a headache today.
- The novel is about the Great Depression of 1929.

The user lives at 14 Linden Street in Leeds.
+ My address is 14 Linden Street, Leeds.
+ I'll send the parcel to 14 Linden Street.
+ I live in Linden Street in Leeds, number 14.
- Leeds won the match yesterday.
- The street was full of people.
- The meeting is at 14:00.

The user is gay and has not told his parents.
+ I'm gay, and my parents don't know.
+ Telling your parents that you are gay is your decision alone.
+ My parents don't know that I am gay.
- My parents are coming for lunch on Sunday.
- Have you told the team about the release?
- I want a cheerful colour for the kitchen.

The user's daughter Mia has leukaemia.
+ My daughter Mia has leukaemia.
+ I hope that Mia's treatment for leukaemia goes well.
+ Mia was told last week that it is leukaemia.
- My daughter Mia likes dinosaurs.
- The treatment of the wood takes two days.
- Blood oranges are in season.

The user interviewed at Nordwind while working for Acme.
+ I had an interview at Nordwind on Tuesday, Acme must not know.
+ How did the interview at Nordwind go?
+ Nordwind invited me to a second interview.
- Acme shipped the new release.
- I read an interview with the president.
- The north wind is cold.

The user has a gambling debt of 12,000 pounds.
+ I owe 12,000 pounds from gambling.
+ A gambling debt of that size needs a plan.
+ My gambling debts are 12,000 pounds by now.
- My bag weighs 12 pounds.
- The mortgage is due on Friday.
- We played cards with the children.

The user is allergic to peanuts.
+ I have a peanut allergy, so be careful with recipes.
+ As you are allergic to peanuts, use sunflower seeds instead.
+ Peanuts are dangerous for me, I am allergic.
- I am allergic to cats.
- The squirrel ate all the walnuts.
- I'd like a recipe for pancakes.

The user plans to quit in June.
+ I'm going to quit my job in June.
+ When you quit in June, ask for your holidays to be paid.
+ I want to hand in my notice, I quit in June.
- Our holidays are in June.
- How do I quit the editor?
- The job runs every night.

The user voted for the Green Party.
+ I voted for the Greens.
+ You said that you voted for the Green Party.
+ I gave the Green Party my vote.
- I bought a green jacket.
- The party starts at eight.
- Our team votes about the logo tomorrow.

The user's PIN card was stolen in Porto.
+ Somebody stole my PIN card in Porto.
+ After the theft of the card in Porto you should call the bank.
+ My card was stolen when we were in Porto.
- We were in Porto for three days.
- I pay everything by card.
- The bike has a new lock.

The user has a tattoo of a whale.
+ I got a whale tattooed on my arm.
+ Your whale tattoo sounds lovely.
+ My whale tattoo needs a touch-up.
- We saw a whale near the coast.
- My arm hurts after training.
- I drew a map for the children.

The user had an abortion in 2021.
+ I had an abortion in 2021.
+ Thank you for telling me about the abortion.
+ It was 2021 when I decided to have the abortion.
- In 2021 I moved to another flat.
- The launch was aborted because of the wind.
- I decided to have soup.

The user goes to Alcoholics Anonymous on Mondays.
+ On Mondays I am at Alcoholics Anonymous.
+ My AA meeting, Alcoholics Anonymous, is every Monday.
+ How was your evening with the Alcoholics Anonymous group?
- On Mondays I play football.
- The anonymous survey closes today.
- A group of tourists was late.

Bei der Nutzerin wurde Brustkrebs festgestellt.
+ Bei mir wurde Brustkrebs festgestellt.
+ Es tut mir leid, dass Sie Brustkrebs haben.
+ Nächste Woche beginnt die Behandlung gegen den Brustkrebs.
- Wir haben Krebse am Strand gesehen.
- Nächste Woche beginnt die Schule.
- Ich habe festgestellt, dass der Drucker leer ist.

Der Nutzer hat 30.000 Euro Schulden.
+ Ich habe 30.000 Euro Schulden.
+ Bei Schulden von 30.000 Euro hilft eine Beratung.
+ Meine Schulden liegen bei 30.000 Euro.
- Das Auto kostet 30 Euro am Tag.
- Wer ist schuld an dem Unfall?
- Meine Schule war in Graz.

Der Nutzer wohnt in der Gartenstraße 7 in Kassel.
+ Ich wohne in der Gartenstraße 7, Kassel.
+ Das Paket geht in die Gartenstraße 7.
+ Meine Adresse ist Gartenstraße 7 in Kassel.
- Im Garten stehen sieben Bäume.
- Kassel hat ein schönes Museum.
- Die Straße ist gesperrt.

Die Nutzerin nimmt Ritalin.
+ Ich nehme seit einem Jahr Ritalin.
+ Ritalin sollten Sie nicht am Abend nehmen.
+ Verträgt sich Ritalin mit Kaffee?
- Ich nehme den Zug um acht.
- Am Abend trinken wir Tee.
- Der Kaffee ist kalt.

Der Nutzer lässt sich von Petra scheiden.
+ Petra und ich lassen uns scheiden.
+ Wie weit ist die Scheidung von Petra?
+ Die Scheidung von Petra ist im Mai.
- Petra schickt mir die Folien.
- Das lässt sich leicht ändern.
- Im Mai fahren wir ans Meer.

Die Nutzerin hat sich bei Siemens beworben.
+ Ich habe mich bei Siemens beworben.
+ Viel Erfolg mit der Bewerbung bei Siemens!
+ Siemens hat auf meine Bewerbung geantwortet.
- Der Kühlschrank ist von Siemens.
- Die Werbung war zu laut.
- Ich habe mich verlaufen.

Der Sohn der Nutzerin heißt Jonas und stottert.
+ Mein Sohn Jonas stottert.
+ Gegen das Stottern von Jonas hilft Logopädie.
+ Jonas stottert seit dem Kindergarten.
- Mein Sohn mag Züge.
- Jonas hat am Montag Geburtstag.
- Der Kindergarten ist geschlossen.

Der Nutzer ist Mitglied der Kirche der Adventisten.
+ Ich bin bei den Adventisten.
+ Als Mitglied der Adventisten arbeiten Sie samstags nicht.
+ Meine Kirche sind die Adventisten.
- Die Kirche im Dorf wird renoviert.
- Im Advent backen wir.
- Ich bin Mitglied im Turnverein.

A la usuaria le diagnosticaron diabetes en enero.
+ En enero me diagnosticaron diabetes.
+ Siento lo de la diabetes.
+ Desde que tengo diabetes mido el azúcar cada día.
- En enero fuimos a la nieve.
- Compra azúcar y harina.
- Me duele la espalda.

El usuario gana 2.300 euros al mes.
+ Gano 2.300 euros al mes.
+ Con un sueldo de 2.300 euros puede pedir ese crédito.
+ Mi sueldo es de 2.300 euros mensuales.
- El alquiler sube cada año.
- ¿Quién ganó el partido?
- El mes que viene viajamos.

El usuario vive en la calle Mayor 22 de Soria.
+ Vivo en la calle Mayor 22, Soria.
+ El paquete llega a la calle Mayor 22.
+ Mi dirección es calle Mayor 22, en Soria.
- Mi hermana mayor vive en Lima.
- La calle estaba vacía.
- Soria es una provincia fría.

La usuaria está embarazada de tres meses.
+ Estoy embarazada de tres meses.
+ ¡Enhorabuena por el embarazo!
+ Con el embarazo no puedo comer jamón.
- Hace tres meses cambié de piso.
- La salsa está buena.
- Estoy cansada de esperar.

El usuario estuvo en la cárcel por robo.
+ Estuve en la cárcel por un robo.
+ Haber estado en la cárcel no le impide trabajar.
+ Pasé dos años en la cárcel.
- Me robaron tiempo con tanta reunión.
- Estuve en la playa el domingo.
- El museo era antes un convento.

La usuaria va a dejar a su marido Pablo.
+ Voy a dejar a mi marido, Pablo.
+ Dejar a Pablo es una decisión difícil.
+ He decidido dejar a mi marido.
- Pablo trae el postre.
- Voy a dejar las llaves en la mesa.
- Mi marido cocina los jueves.

El usuario toma metadona.
+ Tomo metadona desde abril.
+ La metadona puede dar sueño.
+ ¿Puedo conducir si tomo metadona?
- Tomo el autobús a las ocho.
- ¿Puedo pagar con tarjeta?
- El jarabe es para la tos.

El hijo de la usuaria, Leo, es autista.
+ Mi hijo Leo es autista.
+ El autismo de Leo no es ningún problema para la escuela.
+ A Leo le dieron el diagnóstico de autismo.
- A Leo le gustan los trenes.
- Mi hijo come mucho.
- La escuela abre a las nueve.

ユーザーは三月にうつ病と診断されました。
+ 三月にうつ病と診断されました。
+ うつ病と診断されたとのこと、おつらいですね。
+ うつ病の薬を毎日飲んでいます。
- 三月に京都へ行きました。
- 毎日コーヒーを飲みます。
- 今日は会議が三つあります。

ユーザーは妊娠しています。
+ 実は妊娠しています。
+ 妊娠おめでとうございます。
+ 妊娠中なのでお酒は飲めません。
- 友達と旅行しています。
- 会議は三時からです。
- 新しい靴を買いました。

ユーザーの年収は八百万円です。
+ 私の年収は八百万円です。
+ 年収が八百万円なら審査に通ります。
+ 年収八百万円で家を買えますか。
- 家賃は八万円です。
- 今年の夏は暑いです。
- 円の歴史を教えてください。

ユーザーは山田商事を辞めるつもりです。
+ 山田商事を辞めるつもりです。
+ 山田商事を辞める前に、次の仕事を探しましょう。
+ 来月、山田商事を辞めます。
- 山田さんに電話してください。
- 来月は大阪へ行きます。
- 仕事が忙しいです。

ユーザーの息子の健太は白血病です。
+ 息子の健太は白血病です。
+ 健太くんの白血病の治療がうまくいきますように。
+ 健太が白血病だと分かりました。
- 健太はサッカーが好きです。
- 治療費の本を読みました。
- 息子は中学生です。

用户三月被诊断出艾滋病。
+ 我三月被诊断出艾滋病。
+ 听说您得了艾滋病,我很难过。
+ 艾滋病的药每天都要吃。
- 三月我去了北京。
- 每天早上我都跑步。
- 我想吃火锅。

用户正在和王强离婚。
+ 我正在和王强离婚。
+ 离婚的事,您和王强谈过了吗?
+ 我和王强的离婚手续还没办完。
- 王强给我发了邮件。
- 我正在学做菜。
- 手续费是多少?

用户欠银行三十万元。
+ 我欠银行三十万元。
+ 欠银行三十万元可以分期还。
+ 我还欠着银行三十万。
- 银行几点开门?
- 三十个人参加了会议。
- 房租下个月涨。

用户怀孕三个月了。
+ 我怀孕三个月了。
+ 恭喜您怀孕!
+ 我怀孕了,不能喝酒。
- 我学了三个月德语。
- 他喝了一杯茶。
- 恭喜您升职!

用户住在南京路八号。
+ 我住在南京路八号。
+ 包裹会送到南京路八号。
+ 我的地址是南京路八号。
- 我喜欢南京的秋天。
- 路上堵车了。
- 八点开会。

The user's mother Rosa has dementia.
+ My mother Rosa has dementia.
+ It must be hard to see Rosa's dementia progress.
+ Rosa forgets my name because of her dementia.
- My mother Rosa bakes the best bread.
- I forgot my umbrella.
- The roses are in bloom.

The user is undocumented and has no visa.
+ I'm undocumented, I have no visa.
+ Without a visa, an undocumented worker still has rights.
+ I never got a visa, so I am undocumented.
- The function is undocumented.
- My card is a Visa.
- I have no time today.

The user had an affair with Daniel.
+ I had an affair with Daniel.
+ Does your husband know about the affair with Daniel?
+ The affair with Daniel is over.
- Daniel fixed the printer.
- Foreign affairs were the topic of the talk.
- The sale is over.

The user's Steam account is called nightowl77.
+ My Steam account is nightowl77.
+ I added nightowl77 on Steam.
+ You can find me as nightowl77.
- We saw an owl at night.
- The steam engine is in the museum.
- My account at the library expired.

The user was bullied by her manager Keith.
+ My manager Keith bullied me for months.
+ What Keith did is bullying, and you can report it.
+ Keith keeps bullying me in meetings.
- Keith approved the holidays.
- The bull was in the field.
- My manager is on leave.

The user has epilepsy.
+ I have epilepsy.
+ With epilepsy you may drive after a year without seizures.
+ My epilepsy is under control.
- I have a question.
- After a year the warranty ends.
- The volume control is broken.
"""


def _group(block: str) -> Restatements:
    fact, *lines = block.strip().split("\n")
    said = [(line[0], line[2:]) for line in lines]
    return Restatements(
        fact,
        tuple(text for sign, text in said if sign == "+"),
        tuple(text for sign, text in said if sign == "-"),
    )


GROUPS = tuple(_group(block) for block in _GROUPS.strip().split("\n\n"))
CHOOSING, MEASURING = GROUPS[::2], GROUPS[1::2]
