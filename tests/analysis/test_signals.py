"""What people show by the way they say it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from cpu_time import growth
from pydantic import TypeAdapter

from memgraph.analysis.signals import (
    Signals,
    detect,
    load_signals,
)
from memgraph.errors import ConfigError
from memgraph.models import Turn

CORRECTIONS = """
That's wrong|that is wrong|That's incorrect.|that is incorrect|That’s wrong.|No, that's wrong!|this is wrong
not exactly right|that's not correct|That's not right, use tabs|you misunderstood|You misunderstood me.
try again|Please try again.|ok, try again|try again with pytest|redo|Redo it please|Please redo the chart
Can you redo this?|不对|不对，应该是周三|不对。|不對|这个答案不对|不对try again|你理解错了|你理解錯了|你理解有误
你理解有误，我说的是 Go|重试|请重试|再重试一次|重新来|能不能重新来一次|换一种|换一种方法吧|改用|改用pytest
请改用 PostgreSQL|你搞错了|Ｔｈａｔ＇ｓ ｗｒｏｎｇ|No, I meant the other file
You've misunderstood the question|this isn't right|Could you redo it with dark colors?
不对不对|你说得不对|麻烦重新来一遍|请换一种说法|能改用英文吗
错了,应该是 8080|Nope, that's not it
"""
REINFORCEMENTS = """
yes, exactly|Yes exactly!|yes, perfect|yes, that's right|yes, that's correct|yes, that's it
Yes. That is correct.|yes, that is it|Yes, that’s it!|yes — exactly|perfect|Perfect!|Perfect, thanks|perfect 👍
That's perfect!|This is perfect.|exactly right|exactly correct|Exactly right!|that's right|that is right
that's exactly right|that's correct|That’s correct.|that's what I wanted|that's exactly what I wanted
that's exactly what I needed|that's what I meant|that is what I needed|keep that|keep doing that
Please keep doing that.|just like that|just that|just like this|just this|Just like that!|this is great
This is great!|this is helpful|This is helpful, thank you|this is what I wanted|This is what I wanted.
对，就是这样|对,就是这样|对，就是这样。|對，就是這樣|完全正确|完全正确！|就是这个意思|就是这个意思。
正是我想要的|这正是我想要的！|继续保持|继续保持！|继续保持 please|perfect,这正是我想要的|perfect，这正是我想要的
perfect这正是我想要的
"""
PREFERENCES = """
I prefer tabs over spaces|I like short answers|I don't like emojis|I hate Java|Please always use type hints
I'd rather use pytest|From now on, answer in Chinese|my favourite editor is Vim|我更喜欢简短的回答
以后请用中文回答|我不喜欢 emoji|请不要再用表格|我习惯用Vim
"""
IDENTITIES = """
I'm a backend engineer|I am a nurse|My name is Ada|I work at Google|I live in Berlin|I’m from Poland|Call me Ada
I am 34 years old|As a data scientist, I use Python|I speak Polish and German
my wife is a doctor|I'm the CTO of a startup|我叫小明
我是一名后端工程师|我在上海工作|我住在北京|我是程序员|我的职业是医生|我来自深圳|我是学生
"""
GOALS = """
My goal is to learn Rust this year|I want to become a data scientist|I'm planning to launch my app in May
I plan to run a marathon|We aim to migrate to Postgres by Q3|I'm trying to lose weight|Our goal: ship v2 by June
我的目标是今年通过考试|我想学习 Rust|我打算明年考研|我计划在三个月内完成项目|我想成为一名作家
我希望能通过雅思考试
"""
DECISIONS = """
Let's go with PostgreSQL|let’s use pytest|We decided to use FastAPI|I've decided to move to Go
We'll use Redis for caching|I'll go with option B|we're going with React|We chose Kubernetes
We have settled on Tailwind|我们决定用 FastAPI|就用 PostgreSQL 吧|那就用方案二|最终决定采用微服务|定了，用 Go
我们最终选择了 Vue
"""
FIRING = {
    "correction": CORRECTIONS,
    "reinforcement": REINFORCEMENTS,
    "preference": PREFERENCES,
    "identity": IDENTITIES,
    "goal": GOALS,
    "decision": DECISIONS,
}
ORDINARY = {
    "correction": """
I can't redo my kitchen|nothing wrong with that|Is there something wrong with that?|What's wrong with my code?
Add undo/redo support|The redo log is full|I'll try again tomorrow|Users can try again after 5 minutes
It says: please try again later.|tell me if that's wrong|我们的 API 不对外开放|对不对？|这样写对不对
改用户名的接口怎么写|用户改用途怎么办|怎么实现重试机制|失败后自动重试三次|他重新来到北京|不对称加密是什么
我们去年改用了 Go|他们不对结果负责
""",
    "reinforcement": """
just like that, it broke|the perfect storm|not exactly right|is that right?|That's right?|nobody is perfect
practice makes perfect|that's not right|keep that in mind|keep that file|that's right next to the station
just this morning I saw it|perfect is the enemy of good|make sure that's correct|I don't think that's right
I deleted it just like that and nobody noticed|不完全正确|完全正确吗？|继续保持联系|这不是我想要的
如果完全正确就告诉我
""",
    "preference": """
What is it like to live in Berlin?|It looks like rain|I'd like to know how this works|Would you like some tea?
why do people like cats?
""",
    "identity": """
I'm not sure|I'm sure it works|I am going to lunch|I'm a bit confused|I am here|I'm getting an error|Who am I?
I'm running Python 3.11|I'm in a hurry|I'm a little lost|if I were a bird|as a result, my code fails
我是说这个文件|我是不是应该重启|我叫他来|我觉得不错
""",
    "goal": """
I am going to lunch|I want to know why it fails|What is the goal of this function?|I'm going to bed
I want a sandwich|I need to run a quick query|我想问一下|我准备好了|我打算去吃饭|目标文件在哪里
""",
    "decision": """
I haven't decided yet|I can't decide|Should we use Redis?|should I go with Postgres or MySQL?
How do decision trees work?|Let's see|If we use Redis, is it faster?|我还没决定|我决定不了|帮我决定吧
""",
}

TALK = """
Can you help me write a unit test?|How do I center a div?|The server returned a 500 error after the deploy.
I'm trying to understand how async works in Python|Could you explain the difference between a list and a tuple?
I have a bug in my code: the loop never ends|Please summarise this article|What's the weather like in Paris?
I ran the tests and two of them failed|I think it might be a caching issue|It works on my machine
How long does it take to learn Rust?|Can I use this in production?
We have three environments: dev, staging and prod|I need to fix this bug before lunch|Let me check
I'll send you the logs|what happens if I try it again with a different key
I was wondering if you could translate this|Why is this wrong?|Is it incorrect to use goto?
I'm happy with the result so far but let me see|she said that's right after the match|I want to go home
I want to print the list|I'd like an example|We need a table with three columns|I'm at the office
I am going to the store|I'm just curious|I'm on it|I am using Python 3.12 on Ubuntu|I'm testing the API now
The user wants to redo the last step|redo log buffers are flushed on commit|I use it in my code|i'm not a robot
I'm not an expert|I'm interested in an order|I am the one who asked|this is great but slow
it's perfect weather for hiking|make it just like this image|帮我写一个快速排序|这个函数是什么意思|为什么会报错
我的代码运行很慢怎么办|北京今天天气怎么样|我在写一个测试|我在调试这段代码|请解释一下这个概念|你是谁|我想吃火锅
给我讲个笑话|我需要一个例子|我是用户A|我是来测试的|这是什么|我在用 Python 3.11|怎么才能学好英语
这两个版本有什么不同|我要下班了|他是一名医生|他住在上海|她决定去留学|我看不懂|没看懂，能再说一遍吗
点击重试没反应|我不想改用户表|对，但是太长了|就是这样报错的|我正在学习的代码在这里|我决定一下再说
这个接口返回的数据不对称|我不确定对不对|继续|下一步|你好|今天几号
"""


def cases(tables: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, text) for name, table in tables.items() for text in table.strip().replace("\n", "|").split("|")]


def heard(text: str, signals: Signals | None = None) -> tuple[str, ...]:
    return detect([Turn(id="m1", role="human", text=text)], signals or load_signals())


@pytest.mark.parametrize(("name", "text"), cases(FIRING))
def test_it_fires_on(name: str, text: str) -> None:
    """Each is a way in which people say it."""
    assert name in heard(text)


@pytest.mark.parametrize(("name", "text"), cases(ORDINARY))
def test_it_does_not_fire_on(name: str, text: str) -> None:
    """A hint that is not deserved makes the model invent facts."""
    assert name not in heard(text)


@pytest.mark.parametrize("text", TALK.strip().replace("\n", "|").split("|"))
def test_most_talk_shows_nothing(text: str) -> None:
    """People mostly ask for things."""
    assert heard(text) == ()


def test_several_may_fire_in_the_order_of_the_table() -> None:
    """A turn can correct, and decide, and tell who speaks."""
    assert heard("That's wrong. I'm a nurse, and we decided to use FastAPI.") == ("correction", "identity", "decision")


def test_only_what_people_say_counts() -> None:
    """The assistant says "perfect" all the time."""
    assert detect([Turn(id="m1", role="ai", text="Perfect!")], load_signals()) == ()


def test_the_middle_of_a_long_turn_is_not_read() -> None:
    """It is pasted, and reading it would cost."""
    paste = "lorem ipsum " * 1000

    assert heard(f"{paste} that's wrong. {paste}") == ()
    assert heard(f"{paste} that's wrong.") == ("correction",)


def test_a_huge_turn_is_read_in_time() -> None:
    """Somebody will paste five megabytes."""
    signals = load_signals()

    def read(length: int) -> None:
        texts = [unit * (length // len(unit)) for unit in ("i am a ", "不对", "just like that, ")]
        detect([Turn(id=str(at), role="human", text=text) for at, text in enumerate(texts)], signals)

    assert growth(lambda length: partial(read, length), 5_000_000) is None


@pytest.mark.parametrize("name", FIRING)
def test_every_signal_tells_the_model_what_to_do_in_both_languages(name: str) -> None:
    """The prompt is written in one of the two."""
    signals = load_signals()

    assert signals.hint(name, "en").isascii()
    assert not signals.hint(name, "zh").isascii()


def test_the_hints_ask_for_what_policy_wants() -> None:
    """A correction is worth most, and says what went wrong."""
    for language in ("en", "zh"):
        correction = load_signals().hint("correction", language)
        assert "0.95" in correction
        assert "sourceError" in correction
        assert "0.9" in load_signals().hint("reinforcement", language)


def test_packaged_signals_are_read_once() -> None:
    """Reading and compiling them costs a fifth of a second."""
    assert load_signals() is load_signals()


def write(folder: Path, text: str, name: str = "en.yaml") -> Signals:
    (folder / name).write_text(text, "utf-8")
    return load_signals(folder)


def test_a_users_file_extends_the_packaged_one(tmp_path: Path) -> None:
    """One more way to say it is one more line."""
    signals = write(tmp_path, "signals:\n  correction:\n    patterns: [nonsense]\nacknowledgements: [aye aye]\n")

    assert heard("Nonsense!", signals) == ("correction",)
    assert heard("不对", signals) == ("correction",)
    assert "aye aye" in signals.acknowledgements
    assert "ok" in signals.acknowledgements
    assert signals.hint("correction", "en") == load_signals().hint("correction", "en")


def test_a_signal_can_be_added(tmp_path: Path) -> None:
    """What matters to one's users is not always in the package."""
    signals = write(tmp_path, "signals:\n  mood:\n    hint: The user is tired.\n    patterns: |\n      \\btired\\b\n")

    assert heard("I am tired", signals) == ("mood",)
    assert signals.hint("mood", "zh") == "The user is tired."


@pytest.mark.parametrize(
    ("text", "is_heard"),
    [
        ("I want tea", True),
        ("a teapot", False),
        ("anteater", True),
        ("nono", True),
        ("no (no", True),
        ("a|b", True),
        ("a b", False),
        ("plain", False),
    ],
)
def test_each_of_ones_own_patterns_means_what_it_means_alone(tmp_path: Path, text: str, *, is_heard: bool) -> None:
    """Also an alternation, a reference to a group, and a bar or a parenthesis that is a character."""
    patterns = (r"\btea\b", r"\bcoffee|eater", r"\b(no)\1\b", r"\bno [(]", r"\bno \(", r"\ba[|]b")
    lines = "".join(f"      {pattern}\n" for pattern in patterns)
    signals = write(tmp_path, f"signals:\n  mood:\n    hint: How the user is.\n    patterns: |\n{lines}")

    assert ("mood" in heard(text, signals)) == is_heard


def test_a_signal_can_be_replaced(tmp_path: Path) -> None:
    """Then only one's own patterns fire, in that language."""
    signals = write(tmp_path, "signals:\n  correction:\n    replace: true\n    patterns: [nonsense]\n")

    assert heard("That's wrong", signals) == ()
    assert heard("nonsense", signals) == ("correction",)
    assert heard("不对", signals) == ("correction",)


def test_a_language_can_be_replaced(tmp_path: Path) -> None:
    """Nothing of the packaged file is left."""
    signals = write(tmp_path, "replace: true\n")

    assert heard("That's wrong", signals) == ()
    assert heard("不对", signals) == ("correction",)
    assert "thanks" not in signals.acknowledgements


def test_a_language_can_be_added(tmp_path: Path) -> None:
    """A file is named after its language."""
    signals = write(tmp_path, "signals:\n  correction:\n    patterns: [das ist falsch]\n", "de.yaml")

    assert heard("Das ist falsch!", signals) == ("correction",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("signals: [", "en.yaml"),
        ("- a list", "en.yaml"),
        ("signal: {}", "signal"),
        ("signals: {correction: {patterns: ['(']}}", "signals.correction.patterns"),
        ("signals: {correction: {patterns: [1]}}", "signals.correction.patterns"),
        ("signals: {correction: {pattern: [a]}}", "signals.correction.pattern"),
        ("signals: {correction: {replace: maybe}}", "signals.correction.replace"),
        ("acknowledgements: [yes]", "acknowledgements.0"),
        ("signals: {mood: {patterns: [a]}}", "signals.mood.hint"),
    ],
)
def test_a_file_that_cannot_be_used_says_where(tmp_path: Path, text: str, key: str) -> None:
    """Whoever wrote it has to find the line."""
    with pytest.raises(ConfigError, match=key.replace(".", r"\.")):
        write(tmp_path, text)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """A typo in the configuration must not silently mean the packaged signals."""
    with pytest.raises(ConfigError, match="nowhere"):
        load_signals(tmp_path / "nowhere")


def test_signals_can_be_a_field_of_a_model() -> None:
    """They travel in a run's context, which is one."""
    assert TypeAdapter(Signals).validate_python(load_signals()) is load_signals()


def test_an_unknown_signal_has_no_hint() -> None:
    """A misspelt name must not pass for one without a hint."""
    with pytest.raises(KeyError, match="moood"):
        load_signals().hint("moood", "en")
