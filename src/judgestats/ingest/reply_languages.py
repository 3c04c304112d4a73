"""Words of other languages than English that deny an answer, make an example of it, introduce or name it.

No pattern has a repeat without a bound.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Words(NamedTuple):
    """Patterns of one language."""

    negation: str  # before an answer, in its clause
    example: str
    denial: str  # after an answer
    therefore: str  # what ends the clause before an answer
    choice: str  # keys of an answer
    score: str
    candidate: str
    tie: tuple[str, ...]
    sorry: str
    cannot: str


#: The languages other than English in which a denied answer is none.
LANGUAGES = {
    "German": Words(
        r"nicht|kein(?:e[nrms]?)?|niemals|nie|weder|keinesfalls|keineswegs|gegen|statt|gegenteil von",
        r"zum beispiel|beispielsweise|beispiel",
        r"(?:(?:ist|war|wäre|gewinnt|wähle|nehme|kann|verdient|überzeugt)\b[^\n.,;]{0,40}?\s)?(?:nicht|kein(?:e[nrms]?)?|niemals)",
        r"daher|deshalb|somit|folglich|darum|aber|sondern|deswegen|trotzdem",
        r"gewinnerin|gewinner|sieger|urteil|endurteil|entscheidung|ergebnis|antwort|fazit|wahl|auswahl|bessere antwort",
        r"gesamtpunktzahl|punktzahl|bewertung|gesamtnote|punkte|wertung",
        r"antwort|assistent|kandidat",
        ("unentschieden", "gleichstand", "gleich gut", "beide gleich gut", "beide"),
        r"tut mir leid|entschuldigung|entschuldige|leider",
        r"kann (?:ich|das|dies|hier)\b[^\n.]{0,60}\bnicht|nicht möglich|nicht in der lage",
    ),
    "French": Words(
        r"pas|jamais|aucune?|ni|nullement|plutôt que|au lieu de|le contraire de",
        r"par exemple|exemple",
        r"(?:n['e]\s?\w{1,12} |ne (?:\w{1,12} ){1,2})(?:pas|jamais|plus|guère)",
        r"donc|ainsi|mais|alors|par conséquent|c'est pourquoi",
        r"gagnante?|vainqueur|verdict|réponse|meilleure réponse|choix|décision|résultat|jugement",
        r"note|note globale|évaluation",
        r"réponse|assistant|candidate?",
        ("égalité", "match nul", "ex æquo", "ex aequo", "les deux"),
        r"désolée?|regrette|navrée?",
        r"(?:ne (?:peux|puis|suis)|n'ai)\b[^\n.]{0,20}\bpas|ne peux|ne puis|impossible",
    ),
    "Spanish": Words(
        r"no(?= (?:es|será|sería|fue|gana|eli\w{1,8}|vot\w{1,5}|recom\w{1,8}|"
        r"consid\w{1,8}|creo|dir\w{1,4}|digo|mere\w{1,5}|la|el|"
        r"puedo|prefi\w{1,5}|escog\w{1,5})\b)|nunca|jamás|tampoco|"
        r"ningun[oa]|ningún|en lugar de|en vez de|lo contrario de",
        r"por ejemplo|ejemplo",
        r"no (?:es|será|sería|fue|gana|merece|me|la|lo|resulta)",
        r"por (?:lo )?tanto|así que|pero|entonces|por eso|sino",
        r"ganadora?|veredicto|respuesta|mejor respuesta|elección|decisión|resultado|conclusión",
        r"puntuación|calificación|puntaje|nota",
        r"respuesta|asistente|candidat[oa]",
        ("empate", "ambas", "ambas son iguales", "iguales"),
        r"lo siento|perdón|disculp\w{1,5}|lamento|lamentablemente",
        r"no (?:puedo|podría|es posible|soy capaz)",
    ),
    "Portuguese": Words(
        r"não|nunca|jamais|tampouco|nenhuma?|em vez de|o contrário de",
        r"por exemplo|exemplo",
        r"não (?:é|será|seria|foi|ganha|vence|merece|me)",
        r"portanto|logo|então|assim|por isso|mas|porém",
        r"vencedora?|veredicto|veredito|resposta|melhor resposta|escolha|decisão|resultado|conclusão",
        r"nota|pontuação|avaliação",
        r"resposta|assistente|candidat[oa]",
        ("empate", "ambas", "ambas são iguais", "iguais"),
        r"desculp\w{1,4}|sinto muito|lamento|infelizmente",
        r"não (?:posso|consigo|é possível|sou capaz)",
    ),
    "Italian": Words(
        r"non|mai|nessun[oa]?|né|invece di|il contrario di",
        r"per esempio|ad esempio|esempio",
        r"non (?:è|sarà|sarebbe|era|vince|merita|mi)",
        r"quindi|dunque|perciò|pertanto|ma|bensì",
        r"vincitore|vincitrice|verdetto|risposta|migliore risposta|scelta|decisione|risultato|conclusione",
        r"punteggio|voto|valutazione",
        r"risposta|assistente|candidat[oa]",
        ("pareggio", "parità", "entrambe", "uguali"),
        r"mi dispiace|scus\w{1,3}|spiacente|purtroppo",
        r"non (?:posso|è possibile|sono in grado)",
    ),
    "Russian": Words(
        r"не|ни|никогда|нельзя|вместо|противоположность",
        r"например|к примеру|пример",
        r"(?:это |является )?(?:не|неверн\w{1,3}|неправильн\w{1,3})",
        r"поэтому|значит|следовательно|но|итак|а",
        r"победитель|вердикт|ответ|лучший ответ|выбор|решение|итог|вывод",
        r"оценка|балл|рейтинг|итоговая оценка",
        r"ответ|ассистент|кандидат",
        ("ничья", "оба", "одинаково", "равны"),
        r"извините|простите|к сожалению|сожалею",
        r"не (?:могу|в состоянии|имею)|невозможно",
    ),
    "Chinese": Words(
        r"不(?![仅但过只如同错足够准])|没有?|并非|[并绝]?非(?!常)|从未|而不是|相反",
        r"例如|比如|譬如|举例|示例|例子",
        r"(?:并|绝|可|就|肯定)?(?:不|没|非)[是对好正更能应行可会值算]|是?(?:错误|错)的",
        r"所以|因此|因而|故|但是?|而是|于是",
        r"获胜者|胜者|赢家|最终(?:结论|判断|判定|裁决|答案|选择)|结论|判断|判定|判决|裁决|答案|选择|最佳回答|更好的回答",
        r"评分|分数|得分|总分|打分",
        r"回答|回复|响应|助手|答案|候选",
        ("平局", "平手", "相当", "不分上下", "一样好", "两者相当", "都一样"),
        r"抱歉|对不起|很遗憾|不好意思",
        r"我[^\n。，]{0,6}(?:无法|不能|不可以|没办法)|(?:无法|不能)(?:判断|评判|评估|评价|比较|协助|提供|完成|回答)",
    ),
    "Japanese": Words(
        r"ない(?:の|もの|方|ほう)|決して|ではなく|逆",
        r"例えば|たとえば|(?<![案比惯慣条先法凡事实実])例(?!外|文)",
        r"[^\n。、,.]{0,8}?(?:ではな|じゃな|ではありま|とは言え|とは思|を選ば|は選ば|を選びま|正しくな|良くな|適切でな)",
        r"よって|従って|したがって|ので|ため|から|ゆえに|しかし|だが|が、|結論として",
        r"勝者|最終判定|最終結論|結論|判定|回答|選択|評決|答え|判断",
        r"評価|スコア|点数|得点|採点",
        r"回答|応答|アシスタント|候補",
        ("引き分け", "引分け", "同等", "互角", "同点"),
        r"申し訳|すみません|ごめん|残念",
        r"できません|できない|できかね|いたしかね|かねます",
    ),
    "Korean": Words(
        r"아닌|아니라|아니고|않은|못한|절대|반대",
        r"예를 들|예컨대|예시|예제",
        r"(?:은|는|이|가|을|를)? ?(?:\w{1,4} )?(?:아니|아닙|선택하지 않|고르지 않|좋지 않|낫지 않|옳지 않|맞지 않)",
        r"므로|따라서|그래서|그러므로|때문에|지만|니까|그러나|하지만|결국|결론적으로|대신|보다",
        r"승자|최종 ?판정|최종 ?결론|최종 ?선택|결론|판정|정답|답변|선택|판단",
        r"점수|평점|총점|평가",
        r"응답|답변|어시스턴트|후보",
        ("무승부", "동점", "비김", "동등"),
        r"죄송|미안|유감",
        r"수 없|못합|못하|않겠|어렵습",
    ),
}
_ASIAN = ("Chinese", "Japanese", "Korean")


def _of_all(part: str) -> str:
    """One pattern of a part of all languages; words of alphabets stand alone."""
    words = [getattr(w, part) for name, w in LANGUAGES.items() if name not in _ASIAN]
    signs = [getattr(w, part) for name, w in LANGUAGES.items() if name in _ASIAN]
    return rf"\b(?:{'|'.join(words)})\b|(?:{'|'.join(signs)})"


CHOICE_WORDS, SCORE_WORDS, CANDIDATE_WORDS, THEREFORE = map(_of_all, ("choice", "score", "candidate", "therefore"))
TIES = tuple(word for words in LANGUAGES.values() for word in words.tie)
#: What denies an answer, or makes an example of it, before it in its clause.
DENIED_BEFORE = re.compile(f"{_of_all('negation')}|{_of_all('example')}", re.I)
#: "For example" right before an answer.
FOR_EXAMPLE = re.compile(
    r"(?:\b(?:z\. ?b\.|p\. ?ej\.|p\. ?ex\.|v\. ?gr\.|e\. ?g\.|bsp\.|ex\.|es\.|напр\.|for (?:example|instance))|"
    rf"{_of_all('example')})\W{{0,6}}$",
    re.I,
)
#: What denies an answer, or makes an example of it, right after it.
DENIED_AFTER = re.compile(
    rf"[^\w\n.,;:()（。，、；：]{{0,9}}(?:{_of_all('denial')}"
    rf"|(?:(?:ist|war|es|est|é|è|era|это|—|-|是|只是|は|が|은|는|이|"
    rf"가)\W{{0,3}})?(?:(?:nur|solo|seulement|apenas|только|bloß|一个|个|の) ?)?"
    rf"(?:(?:ein|un|um|une) )?(?:{_of_all('example')}|beispiel|ejemplo|exemple|exemplo|esempio|пример|예))",
    re.I,
)
#: A refusal.
SORRY = rf"(?:{_of_all('sorry')})[^\n.。]{{0,60}}?(?:{_of_all('cannot')})"
#: Keys of an answer that may be the answer to the task.
ANSWER_WORDS = frozenset(
    ("antwort", "réponse", "respuesta", "resposta", "risposta", "ответ", "答案", "回答", "答え", "답변", "정답")
)
#: What stands before a key, and between a key and its value.
OTHER_LEADS = (
    r"(?:(?:mein|meine|das|die|der|le|la|mon|ma|mi|el|il|mio|mia|"
    r"o|meu|minha|мой|итак|также|daher|donc|por tanto|portanto|"
    r"quindi|поэтому|제|나의),? |我的|私の|因此[，,]?|所以[，,]?|综上(?:所述)?[，,]?|따라서,? ?)"
)
OTHER_IS = r"(?:ist|est|es|è|é|это)\b|是|为|は"
