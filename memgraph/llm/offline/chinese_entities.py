"""Chinese values about people, places and work."""

import re

from memgraph.llm.offline import english_entities, english_text
from memgraph.llm.offline.chinese_text import ends_in, fits, has, short, starts_with, tidy
from memgraph.llm.offline.rules import words
from memgraph.llm.offline.sentences import BLANK

_NAME_END = re.compile(r"[，,。 (]|是|来自|今年|住在|在(?=.{2})")
_CHORE = re.compile("帮|吃|喝|饭|加班|起床|开会|出|回|睡|打|逛|玩|写|改|学习|上班|下班|滚|等|走")
_ZODIAC = re.compile("座$")
_GROUP = re.compile(r"(?:[群会队党课社营团班组]|俱乐部|健身房|计划|讨论|比赛|会员|活动|项目|社区)$")
_REGION = re.compile(r".[省市区县州国镇村乡岛]$")
_PART_OF_BUILDING = re.compile("(?:讨论|工作|办公|休息|生活)区$|新区$")
_POINTS = re.compile(r"[我你您他她它这那哪谁]")
_ANYWHERE = re.compile(r"里$|[不没有很好个做吃看想要年的]|一(?!.*[区州])|家里|公司|宿舍|酒店|学校")
_AFTER_PLACE = re.compile(r"(?:那边|这边|工作|生活|上学|读书|一带|附近|已经.*|了.*年.*)$")
_FLOOR = re.compile(r"[楼层号室栋]$")
_NO_EMPLOYER = re.compile(
    r"^(?:新来|刚来|应届|优秀|普通|合格|资深|退休|家|外面|晚上|白天|周末|早上|同一|当前|目前|现在|该|本|用|不同|想|看|跟|和|与|忙|认真|努力|学|找|考虑|换|做|思考|寻|准备|打|干|为"
    r"|帮|处理|应付)|(?:(?<!阿)里|来|上|中|前|后|时|时候|边)$|^.{0,2}(?:城市|地方)$|项目$"
)
_SCHOOL = re.compile(r".{2,}(?:大学|学院|中学|高中|大|University|College|学校)$")
_NO_JOB = re.compile(r"打工|搬砖|工具人|[不没]|^好|好(?:老师|学生)|^(?:了|说|想|在|来|去|要|问|最|很|因为|跟|和)")
_COUNTED = re.compile(r"(?:一|两|二|三|四|五|六|\d|几)?(?:个|只|条|位|匹|对|头)(?P<x>.{1,12})")


def name(text: str) -> str | None:
    """A name stated explicitly."""
    tidied = tidy(_NAME_END.split(text.strip(), maxsplit=1)[0] if re.match(r"[\u4e00-\u9fff]", text.strip()) else text)
    if re.search(r"主人|爸爸|爷|女王|老公|老婆|宝贝|陛下|大人", tidied):
        return None
    if re.fullmatch(r"[\u4e00-\u9fff·]{2,4}", tidied):
        return None if any(has("not_in_names", character) for character in tidied) else tidied
    return english_entities.name(tidied) if re.fullmatch(r"[A-Za-z][A-Za-z .'-]{1,30}", tidied) else None


def surnamed(text: str) -> str | None:
    """A full name, recognized by its surname."""
    tidied = name(text)
    if tidied is None or _ZODIAC.search(tidied) or has("cities", tidied):
        return None
    if ends_in("roles", tidied) or has("relations", tidied) or re.search(r"人$|新|学生|粉", tidied):
        return None
    return tidied if starts_with("surnames", tidied) or re.fullmatch(r"[A-Z][A-Za-z]+", tidied) else None


def nickname(text: str) -> str | None:
    """A name that others use, not a request to do something."""
    tidied = name(text)
    return None if tidied is None or _CHORE.search(tidied) else tidied


def date(text: str) -> str | None:
    """A day of the year."""
    tidied = short(text)
    return tidied if tidied and re.search(r"[月号日]|\d[./-]\d", tidied) and not re.search(r"[后前]", tidied) else None


def pet_name(text: str) -> str | None:
    """Any name of a pet."""
    tidied = tidy(text)
    return tidied if fits(tidied, 1, 8) and not re.search(r"[你我他的了得着]", tidied) else None


def place(text: str) -> str | None:
    """A place that is not "here"."""
    tidied = _AFTER_PLACE.sub("", tidy(text))
    is_name = re.fullmatch(r"[\u4e00-\u9fffA-Za-z·、 ]{2,14}", tidied) is not None
    is_vague = _FLOOR.search(tidied) or has("not_places", tidied) or _POINTS.search(tidied) or _ANYWHERE.search(tidied)
    return None if not is_name or is_vague or ends_in("roles", tidied) else tidied


def homeland(text: str) -> str | None:
    """A place of origin."""
    tidied = place(text)
    is_region = re.search(r".[省市区县州国镇]$|^(?:北方|南方|东北|西北|江南)$", text) is not None
    return tidied if is_region or any(city in text for city in words("zh", "cities")) else None


def known_place(text: str) -> str | None:
    """A well-known place, or a name with its type: 县, 镇, 村."""
    tidied = place(text)
    if tidied is None or _PART_OF_BUILDING.search(tidied):
        return None
    return tidied if _REGION.search(tidied) or any(city in tidied for city in words("zh", "cities")) else None


def organisation(text: str) -> str | None:
    """An employer."""
    tidied = tidy(re.sub(r"^(?:一家|一个|一所|某家)(?=(?:公司|单位|学校)$)", "", text.strip()))
    if not fits(tidied, 1, 20) or has("not_organisations", tidied) or BLANK in tidied:
        return None
    return None if _POINTS.search(tidied) or _NO_EMPLOYER.search(tidied) else tidied


def firm(text: str) -> str | None:
    """An employer that people join, not a group or a club."""
    found = organisation(text)
    return None if found is None or _GROUP.search(found) else found


def city(text: str) -> str | None:
    """A city or country, which does not name an employer."""
    return text if has("cities", text.removesuffix("市")) else None


def school(text: str) -> str | None:
    """A school or university."""
    tidied = organisation(text)
    return tidied if tidied and _SCHOOL.fullmatch(tidied) else None


def business(text: str) -> str | None:
    """The user's own company."""
    tidied = short(text)
    return tidied if tidied and (ends_in("organisations", tidied) or re.search(r"[店馆厅坊室]$", tidied)) else None


def job(text: str) -> str | None:
    """A profession: it ends in a known one."""
    tidied = re.sub(r"(?:的)?(?:工作|职位|岗位|一职)$", "", tidy(text))
    tidied = re.sub(r"^(?:一?[名个位])", "", tidied)
    is_role = ends_in("roles", tidied) or (english_text.lists("roles", tidied) and tidied.isascii())
    if not fits(tidied, 2, 16) or not is_role or BLANK in tidied or has("no_job_alone", tidied):
        return None
    return None if _POINTS.search(tidied) or _NO_JOB.search(tidied) else tidied


def self(text: str) -> str | None:
    """A role other than a profession."""
    tidied = tidy(text)
    return tidied if ends_in("selves", tidied) and fits(tidied, 2, 10) and not _POINTS.search(tidied) else None


def possession(text: str) -> str | None:
    """Family and pets, counted."""
    tidied = re.split(r"但|所以|在(?=.{2})", tidy(text), maxsplit=1)[0]
    match = _COUNTED.fullmatch(tidied)
    if match is None or BLANK in tidied or _POINTS.search(tidied):
        return None
    core = re.split(r"叫做?|名叫", match["x"], maxsplit=1)[0]
    return tidied if ends_in("pets", core) or has("relations", core.rpartition("的")[2]) else None


def relation(text: str) -> str | None:
    """A member of the family or the team."""
    return text if has("relations", text) else None


def pet(text: str) -> str | None:
    """An animal in the house."""
    return text if has("pets", text) else None
