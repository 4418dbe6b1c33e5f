"""The same decisions for Japanese and Chinese, on characters, because words are not separated there."""

import re
import unicodedata
from typing import NamedTuple

LONGEST_TEXT = 200
"""Characters. Nothing is decided about a longer text, because it is no short fact."""
_SHORTEST_SUBJECT = 2
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")
_PUNCTUATION = re.compile(r"[\s、。，,.!?！？「」『』()（）]+")  # noqa: RUF001
_NUMBER = re.compile(r"\d[\d.,万千百億:/年月日時分-]*")
_WEEKDAYS = "星期[一二三四五六日天]|周[一二三四五六日天]|[月火水木金土日]曜日?"
_WHEN = re.compile(rf"\d+月\d+日|\d+[时時点點:]|{_WEEKDAYS}|[上下]午")

_ALSO = re.compile(
    r"(?<!ど)も(?!う|の|っと|ら|ち|し)|また|さらに|ほかに|他に|別の|もう一|副業|時々"
    r"|还|還|也|另外|另一|第二|同时|兼|有时"
)
_PAST = re.compile(
    r"以前|かつて|前は|昔|ていた(?!だ)|まで|生まれ|育っ|行った|亡くな|当時"
    r"|曾|之前|从前|过去|直到|出生|毕业|去了|去世|当时"
)
_PLANNED = re.compile(
    r"予定|つもり|たい|かもしれ|来[年月週]|検討|応募|面接"
    r"|打算|计划|想[^要]|可能|也许|下[个周月]|明年|准备|考虑|将|面试|应聘"
)
_CHANGED = re.compile(
    r"から(?P<from>)|に(?:上が|下が|変わ|変更|なっ|延期|変え|替え|切り替え|引き上げ|引き下げ|延び|移)\w*"
    r"|(?:改成|改为|改到|换成|换到|变成|涨到|升到|降到|跌到|推迟到|提前到|延到|延期到|调整为|更新为|升级到)了?"
)
_NOW = re.compile(r"今は|現在は?|いまは|今では|これからは|现在|現在|目前|如今|今年|今後は|从现在起|了$|了(?=\d)")
_ENDED = re.compile(
    r"もう(?P<ja>.+?)(?:ない|ません|やめた)|(?P<quit>.+?)を?(?:やめた|辞めた)$"
    r"|不再(?P<zh>.+?)了?$|戒了(?P<habit>.+)$"
)
_FROM_TO = re.compile(
    r"(?:は|が|^)(?P<ja>[^はが]+?)から.+?に(?:切り替え|変え|替え|移行|乗り換え|引っ越)"
    r"|(?:从|由)(?P<zh>.+?)(?:换到|换成|改成|改用|搬到|转到|跳槽到)"
)
_FUNCTIONAL = re.compile(
    r"(?:好きな\w+|番号|電話|住所|メール\w*|名前|誕生日|上司|担当|家賃"
    r"|最喜欢的\w+|手机号|电话|地址|邮箱|老板|房租)$"
)


class _Template(NamedTuple):
    pattern: re.Pattern[str]
    is_change: bool = False


_HOME = (
    _Template(re.compile(r"^(?:(?P<s>.+?)[はが])?(?P<v>[^はが]+?)に(?:住んで|暮らして)")),
    _Template(re.compile(r"^(?:(?P<s>.+?)[はが])?(?P<v>[^はが]+?)[にへ]引っ越し"), is_change=True),
    _Template(re.compile(r"^(?P<s>.*?)住在(?P<v>.+)$")),
    _Template(re.compile(r"^(?P<s>.*?)(?:搬到|搬去|移居到?)了?(?P<v>.+)$"), is_change=True),
)
_WORK = (
    _Template(re.compile(r"^(?:(?P<s>.+?)[はが])?(?P<v>[^はが]+?)(?:で働いて|に勤めて|に勤務)")),
    _Template(re.compile(r"^(?:(?P<s>.+?)[はが])?(?P<v>[^はが]+?)(?:に転職し|に入社し)"), is_change=True),
    _Template(re.compile(r"^(?P<s>.*?)在(?P<v>.+?)(?:工作|上班|任职)")),
    _Template(re.compile(r"^(?P<s>.*?)(?:跳槽到|入职|加入)了?(?P<v>.+)$"), is_change=True),
)
_STATUS = re.compile(
    r"^(?P<s>.*?)[はが]?"
    r"(?:(?P<single>单身|未婚|独身)|(?P<married>结婚|已婚|結婚し|既婚)|(?P<parted>离婚|離婚|分手|別れ))"
)
_FOLLOWS = {"single": {"married"}, "married": {"parted"}, "parted": {"married"}}
_LIFE_UNITS = re.compile(r"(?:歳|才|岁|キロ|kg|公斤|斤|cm|センチ)")
_AREA_OR_DWELLING = re.compile(
    r"日本|アメリカ|韓国|イギリス|ドイツ|フランス|マンション|アパート|一戸建て|実家"
    r"|中国|中國|美国|韩国|英国|德国|法国|公寓|房子|家里|自宅|在宅|^家|[层層阶階楼]$"
)
_BEGINS_VALUE = re.compile(r"[はが是为：:\d每在星周上下]")  # noqa: RUF001
_COPULA = re.compile(r"(?:は|が|是|：|:)$")  # noqa: RUF001
_USER = re.compile(r"^(?:用户|ユーザー|本人|我|私|他|她)的?")


def is_unspaced(text: str) -> bool:
    """Check whether the text has characters of a script without spaces."""
    return _UNSPACED.search(text) is not None


def is_update(new: str, old: str, *, is_single: bool) -> bool:
    """Check whether the new statement supersedes the old one."""
    if max(len(new), len(old)) > LONGEST_TEXT:
        return False
    if _ALSO.search(new) or _PLANNED.search(new) or _PLANNED.search(old) or _PAST.search(old):
        return False
    later, earlier = _plain(new), _plain(old)
    if later == earlier or (_PAST.search(new) and not _ENDED.search(later)):
        return False
    return (
        _says_it_is_over(later, earlier)
        or _has_other_place(later, earlier, _HOME, is_single=is_single)
        or _has_other_place(later, earlier, _WORK, is_single=is_single)
        or _has_another_status(later, earlier)
        or _has_other_value(later, earlier)
    )


def _plain(text: str) -> str:
    return _PUNCTUATION.sub("", unicodedata.normalize("NFKC", text))


def _says_it_is_over(new: str, old: str) -> bool:
    for pattern in (_ENDED, _FROM_TO):
        found = pattern.search(new)
        gone = next((value for value in found.groupdict().values() if value), "") if found else ""
        gone = gone.rstrip("はをが")
        if gone and _is_said(gone, old) and _is_same_subject(new[: found.start()] if found else "", old):
            return True
    return False


def _is_said(gone: str, old: str) -> bool:
    """Check whether the old statement says it, apart from the ending of its verb."""
    stem, _, verb = gone.partition("は")
    return stem in old and (not verb or verb[:1] in old) and not re.search(r"[と和、及]", old)


def _is_same_subject(subject: str, old: str) -> bool:
    subject = _COPULA.sub("", _NOW.sub("", subject))
    return not subject or old.startswith(subject) or subject in {"她", "他", "用户", "ユーザー"}


def _has_other_place(new: str, old: str, templates: tuple[_Template, ...], *, is_single: bool) -> bool:
    for template in templates:
        found = template.pattern.match(_NOW.sub("", new))
        if not found:
            continue
        if not (template.is_change or is_single or _NOW.search(new)):
            return False
        for earlier in templates:
            if said := earlier.pattern.match(_NOW.sub("", old)):
                return _differ(found, said)
    return False


def _differ(found: re.Match[str], said: re.Match[str]) -> bool:
    value, other = found["v"].rstrip("了"), said["v"].rstrip("了")
    subject, earlier = found["s"] or "", said["s"] or ""
    if bool(_AREA_OR_DWELLING.search(value)) or bool(_AREA_OR_DWELLING.search(other)):
        return False
    return subject == earlier and value not in other and other not in value


def _has_another_status(new: str, old: str) -> bool:
    later, earlier = _STATUS.match(new), _STATUS.match(old)
    if later is None or earlier is None or later["s"] != earlier["s"]:
        return False
    status = next(key for key in _FOLLOWS if earlier[key])
    return any(later[key] for key in _FOLLOWS[status])


def _has_other_value(new: str, old: str) -> bool:
    """Check whether both begin with the same subject, and a number, a date or a unique attribute changed."""
    change = _CHANGED.search(new)
    later, earlier = _CHANGED.sub("|", _NOW.sub("", new)), _NOW.sub("", old)
    begin = _common_prefix(later, earlier)
    subject = _COPULA.sub("", later[:begin])
    value, other = later[begin:].strip("|"), earlier[begin:].lstrip("是は")
    if len(subject) < _SHORTEST_SUBJECT or not value or not other or _USER.fullmatch(subject):
        return False
    if not _COPULA.search(later[:begin]) and not _BEGINS_VALUE.match(earlier[begin:]):
        return False
    if _FUNCTIONAL.search(subject):
        return True
    is_amount = bool(_NUMBER.search(value)) and bool(_NUMBER.search(other))
    is_date = bool(_WHEN.search(value)) and bool(_WHEN.search(other))
    if change:
        return is_amount or is_date
    is_same_unit = _NUMBER.sub("", value) == _NUMBER.sub("", other) and bool(_LIFE_UNITS.search(value))
    return is_amount and not is_date and is_same_unit


def _common_prefix(one: str, other: str) -> int:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b or a.isdigit() or a == "|":
            break
        length += 1
    return length
