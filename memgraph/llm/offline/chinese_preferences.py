"""Chinese values about preferences, skills, goals and habits."""

import re

from memgraph.llm.offline import english_text
from memgraph.llm.offline.chinese_text import fits, has, is_vague, short, starts_with, tidy

_NO_THING = re.compile(
    r"^(?:的|得|着|过|上|是|不|没|去|来|到|里面|有|跟|和|与|把|被|让|能|会|可以|要|一[个件部首家条本]|.{1,6}(?:中|里)(?:的|传|那)"
    r"|看到|听到|看见|每)|(?:的|得|着|是|和|与|跟|在|把|不|没|一种)$"
)
_SMALL_THING = re.compile(r"[猫狗茶酒花书雨雪海山CR]")
_SCENE = re.compile(r"^(?:当|在|能|可以|一[个件部首家条种](?!.*《))|的$")
_NO_LABEL = re.compile(r"还|就|地方|人$|一")
_AND = re.compile(r"[、和与及,，/+]|以及| and ")
_FOR_WHAT = re.compile(
    r"(?:都行|都可以|比较多|多一点|最多|全家桶|打卡|办公|进行|来|做|写|开发|编程|框架|语言|作为|搭建|实现).*$"
)
_FAR = re.compile(
    r".{3}旅[行游]|攀登.{2}|爬.{1,4}山|去.{2,8}玩儿?$|留学|游玩|迁移|学会.+|成|发展|创业|定居|生活|工作|旅居|环游|升级|重构"
)
_ERRAND = re.compile(
    r"会员|账号|发票|权限|学会(?:放|爱|拒|独)|吃饭|睡觉|电影|逛|散步|公园|休息|试试|尝试|看看|哪|找找|新的菜|新菜|午饭|晚饭|咨询|请教|了解|跟|放松|郊外|户外|更多|一些|相关|这样"
)
_NO_LESSON = re.compile(
    r"^(?:校|院|期|会|着|长|会?放|中|的|上|和|如何|怎|一[门些种项个]|新|某|时|了|得|着|过|更|方法|做(?:$|一)|会)|技能|知识|方法|时$|的时候|习惯$|建议|过程|困难|吃力"
)
_PROJECT = re.compile(r"(?:一[个款本部篇套份]|公司的|我们的|团队的).{2,}|(?:毕业|硕士|博士|学位)(?:论文|设计)")
_CHORE = re.compile(r"测试|梦|决定|实验|瑜伽|蛋糕|菜|饭|运动|报告|作业|问题|bug|题|信|邮件|PPT")
_HABIT = re.compile(
    r"(?:至少)?(?:[\d一二三四五六七八九十]+点半?)?(?:花|用)?(?:在|去|自己|早上|晚上|早起|早睡|会|坚持|和.{1,4}一起|先|用|都)?(?:跑|慢跑|跑步|游泳|健身|锻炼|打|弹|练|读"
    r"|看书|阅读|写|冥想|做瑜伽|做饭|做菜|骑|走|爬|喝|吃|早起|早睡|运动|散步|徒步|听|画|学|背|喂|遛|种|瑜伽|起床|睡|熬夜|加班|搭配|配"
    r"|自己做|用|先|在健身房)"
)
_NO_HABIT = re.compile(
    r"的$|一点$|一些|脚本|程序|任务|作业|配一|这|很|感觉|觉得|觉到|想$|[过看吃跑写打学去]了|吃的是|听说|听到|看起来|得|有时候"
)


def thing(text: str) -> str | None:
    """Something liked in general, not at the moment."""
    tidied = short(text)
    if tidied is None or (fits(tidied, 1, 1) and not _SMALL_THING.fullmatch(tidied)):
        return None
    return None if _NO_THING.search(tidied) else tidied


def named(text: str) -> str | None:
    """The answer to a favourite."""
    tidied = short(text)
    return None if tidied is None or _SCENE.search(tidied) else tidied


def label(text: str) -> str | None:
    """The category of a favourite."""
    return None if is_vague(text) or _NO_LABEL.search(text) else text


def languages(text: str) -> str | None:
    """Languages that people speak."""
    tidied = re.sub(r"^(?:一点|一些|一口流利的|流利的|点)", "", tidy(text))
    items = [item for item in _AND.split(tidied) if item]
    return tidied if items and all(has("languages", re.sub(r"^(?:一点|一些)", "", item)) for item in items) else None


def tools(text: str) -> str | None:
    """Languages, frameworks and programs, at least half of them known."""
    tidied = re.sub(r"系统$|电脑$", "", _FOR_WHAT.sub("", tidy(text))).strip()
    items = [item.strip() for item in _AND.split(tidied) if item.strip()]
    known = [item for item in items if _is_tool(item)]
    are_names = all(re.fullmatch(r"[A-Za-z][!-~ ]*", item) or item in known for item in items)
    return tidied if known and len(known) * 2 >= len(items) and are_names else None


def _is_tool(item: str) -> bool:
    return has("tools", item) or english_text.lists("tools", re.sub(r"[ v]?\d[\d.]*\+?$", "", item))


def pastime(text: str) -> str | None:
    """An instrument or a sport."""
    tidied = short(text)
    return tidied if tidied and all(has("sports", item) for item in re.split(r"[、和与]", tidied)) else None


def aim(text: str) -> str | None:
    """A long-term goal, not the next errand."""
    tidied = short(text)
    if tidied is None or not fits(tidied, 2, 60) or not starts_with("aims", tidied) or _ERRAND.search(tidied):
        return None
    needs_more = re.match(r"(?:去|在|用|把|将|做一个|学一点|学会)", tidied)
    return None if needs_more and not _FAR.search(tidied) else tidied


def aim_said(text: str) -> str | None:
    """A goal stated explicitly."""
    tidied = short(text, limit=30)
    return tidied if tidied and fits(tidied, 2, 80) and not re.search(r"作业|跑通|搞定|写完|测试通过", tidied) else None


def lesson(text: str) -> str | None:
    """A named subject to learn."""
    tidied = short(text, limit=14)
    return tidied if tidied and fits(tidied, 2, 40) and not _NO_LESSON.search(tidied) else None


def project(text: str) -> str | None:
    """A project that takes weeks."""
    tidied = short(text)
    return tidied if tidied and _PROJECT.match(tidied) and not _CHORE.search(tidied) else None


def habit(text: str) -> str | None:
    """A habit."""
    tidied = short(text, limit=20)
    is_act = tidied is not None and fits(tidied, 2, 60) and _HABIT.match(tidied) is not None
    return tidied if tidied and is_act and not _NO_HABIT.search(tidied) else None
