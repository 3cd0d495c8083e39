"""Corrections as people word them, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Learn = Callable[..., dict[str, Any]]

CORRECTIONS = [
    (
        "Last night's run loaded 1,284,310 rows. To check them, you could load the table with pandas.",
        (
            "No, that's wrong for us: the table does not fit into memory, so don't use pandas here. "
            "Use Polars in lazy mode instead."
        ),
        "Use Polars in lazy mode, not pandas.",
        "To check them, you could load the table with pandas",
    ),
    ("Add it with npm install zod.", "we don't use npm, we use pnpm", "Uses pnpm at work.", "npm install"),
    (
        "I put the helper in utils.py. Tests go in test_utils.py.",
        "Wrong place. Helpers go in src/lib, never in utils.py.",
        "Helpers go in src/lib, never in utils.py.",
        "I put the helper in utils.py",
    ),
    (
        "I deployed it with Heroku. Run git push heroku main.",
        "That's not how we deploy. We deploy with GitHub Actions to ECS.",
        "The team deploys with GitHub Actions to ECS.",
        "That is not how we deploy",
    ),
    (
        "Python's dict is unordered. So sort the keys.",
        "That's incorrect, dicts have been ordered since Python 3.7.",
        "Dicts have been ordered since Python 3.7.",
        "Python's dict is unordered",
    ),
    ("Use var for the loop.", "Never use var. Use const or let.", "Use const or let, not var.", "Use var"),
    (
        "Dates are shown as MM/DD/YYYY.",
        "We're in Europe, so dates should be DD/MM/YYYY.",
        "Dates should be DD/MM/YYYY.",
        "MM/DD/YYYY",
    ),
    (
        "I've added comments in every line. The code is below.",
        "Stop adding comments to every line. I only want comments where the code is not obvious.",
        "Only wants comments where the code is not obvious.",
        "comments in every line",
    ),
    (
        "I converted the price to dollars. It is $25.",
        "I don't want dollars, I always need prices in euros.",
        "Always needs prices in euros.",
        "dollars",
    ),
    (
        "I used requests to fetch the page. Then BeautifulSoup parses it.",
        "Use httpx instead of requests, we're async everywhere.",
        "Use httpx instead of requests.",
        "I used requests",
    ),
    (
        "The logger prints to stdout.",
        "That's a mistake, logs should go to stderr.",
        "Logs should go to stderr.",
        "stdout",
    ),
    (
        "可以在提交时用正则表达式逐个检查每个字段，例如：",
        "不对，你理解错了。我们项目里不手写正则，统一用 Zod 做校验。",
        "项目里不手写正则，统一用 Zod 做校验",
        "用正则表达式逐个检查",
    ),
    ("你可以用 npm 安装依赖。", "我们不用 npm，用 pnpm", "用户的团队不用 npm，用 pnpm", "npm"),
    ("这是英文版的回答：Hello.", "请用中文回答，不要用英文", "正确做法：请用中文回答，不要用英文", "英文"),
    (
        "测试我用 unittest 写的。",
        "说了多少次了，用 pytest，不要用 unittest",
        "正确做法：用 pytest，不要用 unittest",
        "unittest",
    ),
    ("注释我都用英文写的。", "注释要用中文写", "注释要用中文写", "英文"),
    (
        "我用 axios 发请求。",
        "我们项目禁止用 axios，统一用封装好的 request",
        "项目禁止用 axios，统一用封装好的 request",
        "axios",
    ),
    (
        "用 pandas 读取全部数据即可。",
        "不行，数据太大了内存放不下，要用 Polars 的惰性模式",
        "正确做法：要用 Polars 的惰性模式",
        "pandas",
    ),
    ("你好，小红！", "我不叫小红，我叫小芳", "用户名叫小芳", "小红"),
]

FOUND_LATER = [
    (
        "You can catch it with a bare except.",
        "no, bare excepts are forbidden in our codebase",
        "Bare excepts are forbidden",
    ),
    ("I wrote the tests in Jest.", "We switched to Vitest last year, don't use Jest.", "Uses Vitest"),
    (
        "I hardcoded the URL.",
        "URLs must come from the environment, never hardcode them.",
        "URLs must come from the env",
    ),
    ("推荐 MongoDB，很灵活。", "不用 MongoDB，我们全部用 Postgres", "全部用 Postgres"),
    ("每个实体都继承 Base。", "你搞错了，我们提倡组合，不用继承", "提倡组合"),
]

LOOKALIKES = [
    ("The port is 3000.", "that's wrong? I thought it was right"),
    ("I set the timeout to 30.", "no wait, I meant my previous message was wrong, sorry. ignore it"),
    ("Use npm install.", "My colleague says that's wrong, he says we should use yarn"),
    ("Shall I use Redis?", "No, not now. Use whatever you think."),
    ("Do you use Python?", "No, I don't use it, never needed it."),
    ("Here is the code.", "Hmm, I was wrong. It does work."),
    ("The file is missing.", "I made a mistake, the file is called data.csv, not dat.csv"),
    ("The build failed.", 'The error says "wrong version, use Node 18 instead of 16"'),
    ("Which file?", "use the second one instead"),
    ("The plan has five steps.", "The teacher marked my answer as wrong. What should be corrected?"),
    ("I added a button.", "That's not bad at all"),
    ("超时设置为30。", "不好意思我刚才说错了，忽略上一条"),
    ("用 npm 安装。", "同事说不对，应该用 yarn"),
    ("端口是3000。", "这不对吗？"),
    ("文件不存在。", "我写错了，文件名是 data.csv"),
    ("祝你愉快。", "不用谢"),
    ("哪个文件？", "用第二个"),
    ("计划有五步。", "老师说我写错了，应该怎么改"),
]


@pytest.mark.parametrize(("answer", "said", "content", "wrong"), CORRECTIONS)
def test_a_correction_stands_alone_and_quotes_what_was_wrong(
    learn: Learn, answer: str, said: str, content: str, wrong: str
) -> None:
    """The next agent reads the fact without the conversation around it."""
    corrections = [fact for fact in learn(answer, said)["newFacts"] if fact["category"] == "correction"]

    assert [fact["content"] for fact in corrections] == [content]
    assert wrong in corrections[0]["sourceError"]


@pytest.mark.parametrize(("answer", "said", "part"), FOUND_LATER)
def test_a_correction_says_what_is_right_not_only_what_is_wrong(
    learn: Learn, answer: str, said: str, part: str
) -> None:
    """To avoid one thing does not tell the agent what to do."""
    (fact,) = learn(answer, said)["newFacts"]

    assert (fact["category"], part in fact["content"]) == ("correction", True)


@pytest.mark.parametrize(("answer", "said"), LOOKALIKES)
def test_what_only_looks_like_a_correction_is_none(learn: Learn, answer: str, said: str) -> None:
    """Users correct themselves, quote others, ask whether something is wrong."""
    assert not any(fact["category"] == "correction" for fact in learn(answer, said)["newFacts"])


@pytest.mark.parametrize(
    ("answer", "said", "content"),
    [
        (
            "明白了，用 Zod 定义 schema，再配合 zodResolver 使用。",
            "对，就是这样。",
            "用户认可的做法：“用 Zod 定义 schema，再配合 zodResolver 使用”",
        ),
        (
            "Understood: scan it with Polars, `pl.scan_parquet(...)`, and collect only the result.",
            "Yes, exactly, keep doing that.",
            'Confirmed as the right approach: "scan it with Polars, pl.scan_parquet(), and collect only the result"',
        ),
        (
            "Got it, I'll show the code first.",
            "yes keep doing that",
            'Confirmed as the right approach: "I\'ll show the code first"',
        ),
        (
            "Here is a summary: a, b, c.",
            "great, keep using bullet points like this",
            "Confirmed as the right approach: using bullet points.",
        ),
    ],
)
def test_a_confirmed_approach_is_kept_without_the_words_before_it(
    learn: Learn, answer: str, said: str, content: str
) -> None:
    """Courtesies are no approach."""
    assert [fact["content"] for fact in learn(answer, said)["newFacts"]] == [content]


def test_a_confirmed_approach_is_no_work_context(learn: Learn) -> None:
    """It says how to answer, not what the user does."""
    assert learn("I will use pytest fixtures.", "Yes, exactly!")["summaries"] == {}
