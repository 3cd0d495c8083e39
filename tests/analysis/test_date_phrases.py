"""Relative and incomplete dates in English and Chinese."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.date_phrases import find_dates, resolve_date
from memgraph.analysis.holidays import holiday
from memgraph.models.dates import days_of

THURSDAY = date(2023, 5, 25)
DATES = st.dates(date(1970, 1, 1), date(2100, 12, 31))
FEW = st.integers(1, 60)
NUMERALS = "一二三四五六七八九"
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My father passed away two days ago.", "2023-05-23"),
        ("I ran this morning", "2023-05-25"),
        ("I moved yesterday", "2023-05-24"),
        ("Last night we danced", "2023-05-24"),
        ("the day before yesterday", "2023-05-23"),
        ("We leave the day after tomorrow", "2023-05-27"),
        ("twenty-two days ago", "2023-05-03"),
        ("We met two weeks\nago", "2023-05"),
        ("last week", "2023-05"),
        ("three months ago", "2023-02"),
        ("next month", "2023-06"),
        ("A year ago I quit.", "2022"),
        ("last year", "2022"),
        ("this weekend", "2023-05"),
        ("I saw her last Friday", "2023-05-19"),
        ("last Thursday", "2023-05-18"),
        ("this Friday", "2023-05-26"),
        ("On Monday I started a new job", "2023-05-22"),
        ("I will see him on Monday", "2023-05-29"),
        ("I moved in March", "2023-03"),
        ("I moved in October", "2022-10"),
        ("I'm going to move in October", "2023-10"),
        ("We meet a week on Saturday", "2023-06-03"),
        ("The audit is Friday week", "2023-06-02"),
        ("Two weeks tomorrow we fly", "2023-06-09"),
        ("The exam is Thursday the 8th", "2023-06-08"),
        ("I had it on Monday the 8th", "2023-05-08"),
        ("I sprained it three weeks back.", "2023-05"),
        ("the week after next", "2023-06"),
        ("by the end of next year", "2024"),
        ("Last summer we hiked", "2022"),
        ("next spring", "2024"),
        ("this spring", "2023"),
        ("this summer", "2023"),
        ("last December", "2022-12"),
        ("next January", "2024-01"),
        ("on May 3rd we married", "2023-05-03"),
        ("The exam is scheduled for 9 June", "2023-06-09"),
        ("the 3rd of May", "2023-05-03"),
        ("May 3, 2021", "2021-05-03"),
        ("in May 2021", "2021-05"),
        ("since 2019", "2019"),
        ("2021-05-03", "2021-05-03"),
        ("今天很累", "2023-05-25"),
        ("我昨天搬家了", "2023-05-24"),
        ("昨晚", "2023-05-24"),
        ("前天", "2023-05-23"),
        ("大前天", "2023-05-22"),
        ("明天", "2023-05-26"),
        ("後天", "2023-05-27"),
        ("上周", "2023-05"),
        ("上周五", "2023-05-19"),
        ("上星期天", "2023-05-21"),
        ("下下周三", "2023-06-07"),
        ("上個月", "2023-04"),
        ("上个月5号", "2023-04-05"),
        ("去年", "2022"),
        ("前年", "2021"),
        ("三天前", "2023-05-22"),
        ("二十三天前", "2023-05-02"),
        ("两周前", "2023-05"),
        ("三个月以前", "2023-02"),
        ("五年前", "2018"),
        ("3月5日我去了北京", "2023-03-05"),
        ("三月五号", None),
        ("12月25日要去北京", "2023-12-25"),
        ("我在三月搬家了", "2023-03"),
        ("月底交房租", "2023-05"),
        ("年底搬家", "2023"),
        ("2023年5月", "2023-05"),
        ("2023年5月3日", "2023-05-03"),
        ("去年三月", "2022-03"),
        ("三年前年轻的时候", "2020"),
    ],
)
def test_phrase_has_the_date_that_it_means(text: str, expected: str | None) -> None:
    """As precise as the phrase: a week is within a month, so its month is known."""
    assert resolve_date(text, THURSDAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a few days ago",
        "a couple of weeks ago",
        "about two days ago",
        "two days ago or so",
        "2-3 days ago",
        "1.5 years ago",
        "half a year ago",
        "one or two years ago",
        "two and a half years ago",
        "next Friday",
        "last March",
        "My birthday is on May 3rd",
        "I was born in March",
        "I swim every day in June",
        "I row every Monday, Thursday",
        "on February 30, 2023",
        "yesterday or today",
        "几年前",
        "两三天前",
        "半年前",
        "大约三天前",
        "三天左右",
        "我的生日是5月3日",
        "农历八月十五",
        "每月底",
        "2023年13月",
    ],
)
def test_uncertain_date_is_none(text: str) -> None:
    """No date is better than a wrong one."""
    assert resolve_date(text, THURSDAY) is None


@pytest.mark.parametrize(
    "text", ["I start my PhD in September", "We fly home on October 3", "After I return in October"]
)
def test_a_date_in_the_present_tense_is_not_past(text: str) -> None:
    """It is a plan; no date is better than a wrong one."""
    assert resolve_date(text, date(2026, 11, 28)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I may go, and this may be fine",
        "They march on; the march went well",
        "over the last week",
        "the last year of school",
        "I have 3 cats and 2 dogs",
        "we may 5 of us come, march 10 miles and need a 9/16 wrench",
        "version 2.5 of 2024",
        "以前天天跑步",
        "然后天黑了",
        "三月前线",
        "年轻",
        "I bake only on Sunday mornings.",
        "He calls on Friday nights.",
    ],
)
def test_words_that_only_look_like_dates_are_not_found(text: str) -> None:
    """The word "may" is also a verb, and 以前天天 does not contain 前天."""
    assert find_dates(text, THURSDAY) == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("上周一起去了", "2023-05"), ("上周三次", "2023-05"), ("上周一去了", "2023-05-15")]
)
def test_number_after_a_week_is_a_weekday_only_if_it_counts_nothing(text: str, expected: str) -> None:
    assert resolve_date(text, THURSDAY) == expected


def test_mentions_are_in_the_order_of_the_text() -> None:
    """The longest phrase at a place counts."""
    text = "I moved two days ago, and start next month."

    mentions = find_dates(text, THURSDAY)

    assert [(text[one.start : one.end], one.date) for one in mentions] == [
        ("two days ago", "2023-05-23"),
        ("next month", "2023-06"),
    ]


def test_weekend_of_which_was_told_on_a_monday_is_the_one_before() -> None:
    monday = date(2023, 7, 31)

    assert resolve_date("This weekend was great.", monday) == "2023-07"
    assert resolve_date("This weekend we will sail.", monday) == "2023-08"


@given(DATES, FEW)
def test_days_ago_is_that_many_days_before(today: date, count: int) -> None:
    expected = (today - timedelta(days=count)).isoformat()

    assert resolve_date(f"I moved {count} days ago", today) == expected
    assert resolve_date(f"我{count}天前搬家了", today) == expected


@given(DATES, FEW)
def test_date_of_weeks_ago_contains_the_day_that_many_weeks_before(today: date, count: int) -> None:
    """If the week lies in two years, there is none."""
    day = today - timedelta(weeks=count)

    days = days_of(resolve_date(f"{count} weeks ago", today) or "")

    assert days is None or days.first <= day <= days.last
    assert days is not None or (day - timedelta(days=6)).year < (day + timedelta(days=6)).year


@given(DATES, FEW)
def test_months_and_years_ago_are_whole_ones(today: date, count: int) -> None:
    months = today.year * 12 + today.month - 1 - count

    assert resolve_date(f"{count} months ago", today) == f"{months // 12:04}-{months % 12 + 1:02}"
    assert resolve_date(f"{count}年前", today) == f"{today.year - count:04}"


@given(DATES, st.integers(0, 6))
def test_last_weekday_is_within_the_seven_days_before(today: date, weekday: int) -> None:
    day = date.fromisoformat(resolve_date(f"last {WEEKDAYS[weekday]}", today) or "")

    assert day.weekday() == weekday
    assert 1 <= (today - day).days <= 7


@given(DATES, st.integers(0, 6))
def test_chinese_weekday_of_last_week_is_in_the_week_before(today: date, weekday: int) -> None:
    day = date.fromisoformat(resolve_date(f"上周{'一二三四五六日'[weekday]}", today) or "")

    assert day.weekday() == weekday
    assert (today - timedelta(days=today.weekday()) - day).days == 7 - weekday


@given(DATES, st.dates(date(1990, 1, 1), date(2060, 12, 31)))
def test_full_dates_do_not_depend_on_the_day(today: date, day: date) -> None:
    texts = [day.isoformat(), f"{day:%B} {day.day}, {day.year}", f"{day.year}年{day.month}月{day.day}日"]

    assert {resolve_date(text, today) for text in texts} == {day.isoformat()}


@given(
    st.text(st.sampled_from("0123456789 ago last next this week day years in on May 天前上下周个月年五日号.,-/")), DATES
)
def test_any_text_has_certain_partial_dates_or_none(text: str, today: date) -> None:
    """And mentions do not overlap."""
    mentions = find_dates(text, today)

    assert all(one.date is None or days_of(one.date) for one in mentions)
    assert all(one.start < one.end for one in mentions)
    assert all(before.end <= after.start for before, after in pairwise(mentions))


MAY = date(2026, 5, 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I signed the lease and I move in on June 1", "2026-06-01"),
        ("The play they wanted opens on June 20", "2026-06-20"),
        ("We painted the hall, then on April 9 moved back", "2026-04-09"),
        ("I was hired and the course begins on August 3", "2026-08-03"),
        ("The exhibition I visited closed on February 2", "2026-02-02"),
        ("I will be all-cleared for the race on July 5", "2026-07-05"),
        ("They moved my surgery to September 30", "2026-09-30"),
        ("The recently abandoned chapel reopens on September 30", "2026-09-30"),
        ("The acquitted mayor resigned on February 3", "2026-02-03"),
        ("We relocated to Bergen on January 9", "2026-01-09"),
        ("I managed to swap the shift on April 2", "2026-04-02"),
        ("I need to return the keys on August 20", "2026-08-20"),
        ("合同签好了，8月1日入住", "2026-08-01"),
        ("订好了7月3日去广州的票", "2026-07-03"),
        ("2月9日我换了手机", "2026-02-09"),
    ],
)
def test_year_is_that_of_the_tense_of_the_clause_of_the_date(text: str, expected: str) -> None:
    """What was signed, hired or moved is in the past, but not the day that is named."""
    assert resolve_date(text, MAY) == expected


@pytest.mark.parametrize("text", ["My adopted son sings on {}", "My left hip gets bared on {}", "I vowed to go on {}"])
@given(today=st.dates(min_value=date(2001, 1, 1), max_value=date(2090, 1, 1)), ahead=st.integers(1, 300))
def test_a_verb_form_that_is_not_the_verb_of_the_date_makes_no_day_past(text: str, today: date, ahead: int) -> None:
    """A participle before a noun or after "get" has no tense, and what follows "to" may still come."""
    day = today + timedelta(days=ahead)

    found = resolve_date(text.format(f"{day:%B} {day.day}"), today)

    assert found == str(day) or (found is None and (ahead > 60 or (day.month, day.day) == (2, 29)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The trial was moved to Thursday, March 4", "2027-03-04"),
        ("We met on Monday 3 November", "2025-11-03"),
        ("12月5日星期五拆的线", "2025-12-05"),
        ("The review is on May 3 (2027-05-03)", "2027-05-03"),
        ("We met on Monday 5 November", None),
    ],
)
def test_weekday_or_full_date_beside_a_date_decides_its_year(text: str, expected: str | None) -> None:
    """Both are one date; if no near year has that weekday, there is none."""
    assert resolve_date(text, MAY) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The old ticket in my drawer says 8 December",
        "12月8日对我们很特别",
        "June 9: dentist.",
        "6月9号，复诊。",
        "I was meant to start on June 12",
        "我记得那天是7月15号",
        "We were hired on May 20",
        "I hurt my back on December 1",
        "They begged us to stand guard on November 1",
    ],
)
def test_year_of_a_day_that_is_neither_near_nor_in_a_clause_with_a_tense_is_not_guessed(text: str) -> None:
    assert resolve_date(text, MAY) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("In nine days I sit the exam", "2026-05-13"),
        ("I learned it in nine days", None),
        ("Ten days from now the lease ends", "2026-05-14"),
        ("It broke a week ago today", "2026-04-27"),
        ("A month ago to the day I quit", "2026-04-04"),
        ("In a fortnight we sail", "2026-05-18"),
        ("We lead the parade on the last Sunday of this month", "2026-05-31"),
        ("The play opens on the first Friday of June", "2026-06-05"),
        ("I leave next year, in June", "2027-06"),
        ("I leave in June next year", "2027-06"),
        ("I had it done on the second of March", "2026-03-02"),
        ("I hurt my back on April 20", "2026-04-20"),
        ("I'm going to cut my hair on May 20", "2026-05-20"),
        ("They start on Thursday", "2026-05-07"),
        ("The clinic wrote on the 19th that I am well", "2026-04-19"),
        ("The exam on the 29th was hard", "2026-04-29"),
        ("I hand it over on the 9th, at last", "2026-05-09"),
        ("The vote is planned for the 30th", "2026-05-30"),
        ("Since the 1st I've led the lab", "2026-05-01"),
        ("I've been sober since November 3", "2025-11-03"),
        ("Back on 2 June I swore to swim", "2025-06-02"),
        ("Grandma died in February", "2026-02"),
        ("去年的今天我住院了", "2025-05-04"),
        ("两周后的今天剖腹产", "2026-05-18"),
        ("28号我就要报到了", "2026-05-28"),
        ("My bag was stolen on the 22nd.", "2026-04-22"),
        ("My last shift is the 22nd.", "2026-05-22"),
        ("The visa starts on the 2nd of next month", "2026-06-02"),
        ("It rained the Saturday before last", "2026-04-25"),
        ("I met her on 8 November last year", "2025-11-08"),
        ("I see Ana this coming Wednesday", "2026-05-06"),
        ("On Christmas Eve we met", "2025-12-24"),
        ("九天后考试", "2026-05-13"),
        ("再过九天就放假了", "2026-05-13"),
        ("九天后他走了", None),
        ("元旦那天我们结了婚", "2026-01-01"),
        ("the lease ended 12 april, how do I move out", "2026-04-12"),
        ("thursday may 14 is my viva", "2026-05-14"),
        ("I fell off my bike on 23/04", "2026-04-23"),
        ("I passed on 4/23/2025, finally", "2025-04-23"),
        ("my exam is on 4/5", None),
        ("we got engaged on valentines day", "2026-02-14"),
        ("我三月离的职", "2026-03"),
        ("六月我去留学", "2026-06"),
        ("明儿我搬家", "2026-05-05"),
        ("Monday we finally signed the lease", "2026-04-27"),
        ("He collects it Friday", "2026-05-08"),
        ("I swim every Monday", None),
        ("Tuesday to Thursday I teach", None),
        ("星期六我去了海边", "2026-05-02"),
        ("每周六我去海边", None),
        ("The baby is due on the twenty-first", "2026-05-21"),
        ("June the third is our hearing", "2026-06-03"),
        ("We will move in the autumn", "2026"),
        ("I sold it in the summer of 2019", "2019"),
        ("三月下旬我做了手术", "2026-03"),
        ("Over the weekend I painted the hall", "2026-05"),
        ("On Mothering Sunday we ate out", None),
        ("Bought it in mid-February", "2026-02"),
        ("She called at 11:58 on Friday", "2026-05-01"),
        ("I moved on April 3rd, and now I swim every day", "2026-04-03"),
        ("She persuaded me to sing on Friday", None),
        ("I shut the stall on Friday", None),
        ("On Good Friday I broke my arm", "2026-04-03"),
        ("At Easter we were in Split", "2026-04-05"),
        ("I will cook on Thanksgiving, for twelve", "2026-11-26"),
        ("The parade on Memorial Day will be loud", "2026-05-25"),
        ("The Christmas tree is still up", None),
        ("Christmas is hard every year", None),
        ("清明那天我回了老家", "2026-04-05"),
        ("除夕晚上我们吃了饺子", "2026-02-16"),
        ("中秋我要回老家", "2026-09-25"),
        ("冬至那天我们吃了汤圆", "2025-12-21"),
        ("腊月二十八我到了家", "2026-02-15"),
        ("中秋节的月饼太甜", None),
    ],
)
def test_days_ahead_weekdays_ordinals_parts_of_a_year_and_holidays_are_dates(text: str, expected: str | None) -> None:
    """Of a season only the year is a partial date.

    A movable holiday is by its rule in the year that the sentence means; with another noun it names no day.
    """
    assert resolve_date(text, MAY) == expected


@given(st.integers(1900, 2099))
def test_easter_is_a_sunday_in_spring(year: int) -> None:
    day = holiday("easter", year)

    assert day
    assert (day.weekday(), date(year, 3, 22) <= day <= date(year, 4, 25)) == (6, True)


@given(st.integers(1950, 2099))
def test_the_eve_of_a_chinese_year_is_the_day_before_it(year: int) -> None:
    eve, first = holiday("除夕", year), holiday("春节", year)

    assert eve
    assert first
    assert (first - eve).days == 1


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("I lived there from March to May 2025.", ("2025-03", "2025-05")),
        ("What was I doing between November and January 2026?", ("2025-11", "2026-01")),
        ("We camped from 3 May to 5 June 2025.", ("2025-05-03", "2025-06-05")),
        ("It took from October 2024 until March", ("2024-10", "2025-03")),
        ("从2025年3月到5月", ("2025-03", "2025-05")),
        ("We met in May and I turn 40 in June 2027", ("2026-05", "2027-06")),
        ("I have exams on June 3 and July 5, 2027", ("2026-06-03", "2027-07-05")),
    ],
)
def test_both_ends_of_a_range_have_its_year(text: str, dates: tuple[str, ...]) -> None:
    """The last two are none."""
    assert tuple(mention.date for mention in find_dates(text, MAY)) == dates
