"""A claim is plain only if it is known to follow from the sentence that it quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.analysis.provenance import with_provenance
from memgraph.analysis.statement import Statement, Verdict, follows, statement, states_only_past
from memgraph.models import Turn

VERBS = st.sampled_from(["play", "like", "collect", "own", "teach", "need"])
THINGS = st.sampled_from(["chess", "violins", "old maps", "two parrots", "green tea", "physics"])


def read(text: str, quote: str = "", previous: str = "") -> Statement:
    return statement(quote or text, with_provenance(Turn(id="1", role="human", text=text)), previous)


def judge(text: str, claim: str, quote: str = "", previous: str = "") -> Verdict:
    return follows(claim, read(text, quote, previous))


# -- what is plain --------------------------------------------------------------------------------


@given(VERBS, THINGS)
def test_a_clause_without_its_subject_is_plain(verb: str, thing: str) -> None:
    assert judge(f"By the way, I {verb} {thing}.", f"{verb.capitalize()}s {thing}.") == "plain"
    assert judge(f"I don't {verb} {thing}.", f"Does not {verb} {thing}.") == "plain"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I'm a nurse at a hospital in Oslo.", "The user is a nurse."),
        ("I really love hiking.", "Loves hiking."),
        ("I also love to read.", "Likes reading."),
        ("I've been learning to draw lately.", "Is learning to draw."),
        ("I like tea, dark bread and honey.", "Likes tea, dark bread, and honey."),
        ("I live in Leeds and work in York.", "Works in York."),
        ("I haven't got a car.", "Does not have a car."),
        ("im allergic to nuts", "Is allergic to nuts."),
        ("My name is Lena.", "The user's name is Lena."),
        ("I'm 34, is that old?", "Is 34 years old."),
        ("I'm thirty-four.", "Is 34 years old."),
        ("My mum is a baker.", "Mother is a baker."),
        ("我在医院当护士。", "是医院的护士。"),
        ("我对花生过敏。", "对花生过敏。"),
        ("牛肉我不吃。", "不吃牛肉。"),
        ("我今年七十。", "今年70岁。"),
        ("在杭州做外贸，天天加班。", "在杭州做外贸。"),
    ],
)
def test_forms_of_the_same_words_are_plain(text: str, claim: str) -> None:
    assert judge(text, claim) == "plain"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("We plan to open a tea room.", "Plans to open a tea room."),
        ("I used to live in Lima.", "Lived in Lima."),
        ("I might move to Porto.", "Might move to Porto."),
        ("我打算学钢琴。", "打算学钢琴。"),
    ],
)
def test_a_claim_that_keeps_modality_and_time_is_plain(text: str, claim: str) -> None:
    assert judge(text, claim) == "plain"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("What food suits my old parrot Rex?", "Has an old parrot."),
        ("My brother's a locksmith.", "Has a brother who is a locksmith."),
        ("My laptop is ten years old.", "Has a ten-year-old laptop."),
        ("我女儿发烧了。", "有女儿。"),
    ],
)
def test_what_the_user_calls_theirs_they_have(text: str, claim: str) -> None:
    assert judge(text, claim) == "plain"


# -- what is kept as it was said ------------------------------------------------------------------


@given(VERBS, THINGS)
def test_a_dropped_denial_is_never_plain(verb: str, thing: str) -> None:
    for said in (f"I don't {verb} {thing}.", f"I never {verb} {thing}.", f"I no longer {verb} {thing}."):
        assert judge(said, f"{verb.capitalize()}s {thing}.") == "as said"


@given(
    VERBS,
    THINGS,
    st.sampled_from(
        [
            "If we moved, I {}.",
            "I {}, I think.",
            "I {}, or so my aunt says.",
            "Maybe I {}.",
            "My aunt says I {}.",
            "Supposedly I {}.",
            "I will {}.",
            "I want to {}.",
            "I'd {}.",
            "I only {}.",
            "I used to {}.",
            "Unless it rains, I {}.",
            "I {}, haha.",
            "People think I {}.",
        ]
    ),
)
def test_a_dropped_modality_is_never_plain(verb: str, thing: str, sentence: str) -> None:
    assert judge(sentence.format(f"{verb} {thing}"), f"{verb.capitalize()}s {thing}.") == "as said"


@given(VERBS, THINGS, st.sampled_from(["cello", "Berlin", "7", "expert", "daily"]))
def test_an_added_word_is_never_plain(verb: str, thing: str, added: str) -> None:
    assert judge(f"I {verb} {thing}.", f"{verb.capitalize()}s {thing} {added}.") == "as said"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("My sister plays chess.", "Plays chess."),
        ("My sister and her son are here, she plays chess.", "Plays chess."),
        ("我室友在腾讯上班。", "在腾讯上班。"),
        ("小李失业了，在找工作。", "在找工作。"),
    ],
)
def test_what_another_person_does_is_not_plain(text: str, claim: str) -> None:
    assert judge(text, claim) == "as said"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I moved to Oslo from Bergen.", "Moved to Bergen from Oslo."),
        ("I moved to Oslo from Bergen.", "Moved from Oslo to Bergen."),
        ("Ben taught me chess.", "Taught Ben chess."),
        ("I like tea more than coffee.", "Likes coffee more than tea."),
        ("我欠老赵钱。", "老赵欠钱。"),
    ],
)
def test_swapped_parts_are_not_plain(text: str, claim: str) -> None:
    assert judge(text, claim) == "as said"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I have a dog allergy.", "Has a dog."),
        ("I hate peanut butter.", "Hates butter."),
        ("I'm sick of my job.", "Is sick."),
        ("I cook.", "Is a cook."),
        ("I work from home on Fridays.", "Works from home."),
        ("我有狗粮。", "有狗。"),
        ("我有车。", "有病。"),
    ],
)
def test_a_part_of_a_phrase_is_not_plain(text: str, claim: str) -> None:
    assert judge(text, claim) == "as said"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("I lived in Lima.", "Lives in Lima."),
        ("I was engaged to Pat.", "Is engaged to Pat."),
        ("I sold my car.", "Has a car."),
        ("我以前住在北京。", "住在北京。"),
    ],
)
def test_what_was_is_not_plain_as_what_is(text: str, claim: str) -> None:
    assert judge(text, claim) == "as said"


def test_what_is_beside_a_role_play_is_not_plain() -> None:
    text = "You are a client, and I run a detective agency."

    assert judge(text, "Runs a detective agency.", quote="I run a detective agency") == "as said"


@given(
    st.sampled_from(["sing", "paint", "write", "garden", "coach", "translate"]),
    st.sampled_from(["Is a {}.", "Works as a {}.", "The user is a keen {}."]),
    st.sampled_from(["I {} at weekends.", "I like to {}.", "I {} for my children."]),
)
def test_who_does_something_is_not_one_who_does_it_for_a_living(verb: str, claim: str, said: str) -> None:
    """The stems are equal, the words are not."""
    trade = f"{verb.removesuffix('e')}{'or' if verb == 'translate' else 'er' if verb != 'coach' else ''}"
    text = said.format(verb)

    assert follows(claim.format(trade), read(text), is_supported=True) == "as said"
    assert follows(f"Is a {trade}.", read(f"I am a {trade}."), is_supported=True) == "plain"


@pytest.mark.parametrize(
    ("said", "claim"), [("我爱唱歌。", "用户是歌手。"), ("我教书。", "是教授。"), ("我常跳舞。", "是舞者。")]
)
def test_nor_so_in_chinese(said: str, claim: str) -> None:
    assert follows(claim, read(said), is_supported=True) == "as said"


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("I very nearly sold the boat.", "Sold the boat."),
        ("We almost had a second child.", "Had a second child."),
        ("I came close to losing my job.", "Lost the job."),
        ("I was on the brink of leaving Leeds.", "Left Leeds."),
        ("我差点卖了房子。", "卖了房子。"),
        ("我险些被裁员。", "被裁员了。"),
        ("我差一点儿去了英国。", "去了英国。"),
    ],
)
def test_what_nearly_happened_is_not_plain_as_what_happened(said: str, claim: str) -> None:
    stated = read(said)

    assert "hedged" in stated.marks
    assert follows(claim, stated, is_supported=True) == "as said"


def test_a_guess_is_not_what_nearly_happened() -> None:
    assert follows("Perhaps sold the boat.", read("I nearly sold the boat."), is_supported=True) == "as said"
    assert follows("Nearly sold the boat.", read("I nearly sold the boat."), is_supported=True) == "plain"


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Do I live in Lima?",
        "I live in Lima, don't I?",
        "am I allergic to nuts",
        "我是不是感冒了？",
        "你觉得我适合学法律吗",
    ],
)
def test_a_question_states_nothing(text: str) -> None:
    stated = read(text)

    assert stated.source == "nobody"
    assert "asked" in stated.marks
    assert follows("Lives in Lima.", stated) == "refused"


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("This week it was Emma, which everyone but me liked.", "Did not like Emma."),
        ("do it in blue and always add a border", "Wants a border on each table."),
        ("Which oil can I use, because nuts make me ill?", "Does not tolerate nuts."),
    ],
)
def test_what_is_no_part_of_a_question_is_not_asked(text: str, claim: str) -> None:
    assert judge(text, claim) == "as said"


@pytest.mark.parametrize(
    "question", [", how do I answer?", ", so which one?", " and is that normal?", ", is it ok?", ", what then?"]
)
def test_a_statement_beside_a_question_is_not_refused(question: str) -> None:
    assert judge(f"I lead a team of nurses{question}", "Leads nurses.", quote="I lead a team of nurses") == "as said"


@pytest.mark.parametrize(
    ("text", "quote", "setting"),
    [
        ("What do I reply to 'I will be away until Monday'?", "I will be away until Monday", "quotation"),
        ("Translate into Italian: I lost my passport in Rome.", "I lost my passport in Rome", "text"),
        ("Poem opening: I am the last human alive.", "I am the last human alive", "fiction"),
        ("user.age = 34 fails, why", "user.age = 34", "code"),
        ("Sum this up. Orla: moving to Cork! Pat: who feeds us? Orla: you", "moving to Cork", "lines"),
        ("帮我翻译：我在伦敦工作了十年。", "我在伦敦工作了十年", "text"),
    ],
)
def test_what_stands_in_a_text_of_others_is_refused(text: str, quote: str, setting: str) -> None:
    stated = read(text, quote)

    assert stated.setting == setting
    assert follows("Is tired.", stated) == "refused"


def test_the_users_own_line_of_a_chat_log_is_not_refused() -> None:
    text = "Hana: who does dessert?\nme: I'll bring the trifle\nFind me a recipe."

    assert judge(text, "Is bringing a trifle.", quote="me: I'll bring the trifle") == "as said"


def test_the_words_of_another_speaker_are_refused() -> None:
    said = statement("I live in Lima", Turn(id="1", role="human", text="I live in Lima.", speaker="Ben"))

    assert said.source == "other"
    assert follows("Lives in Lima.", said) == "refused"


def test_a_quote_that_the_turn_does_not_have_is_refused() -> None:
    assert judge("I live in Lima.", "Lives in Oslo.", quote="I live in Oslo") == "refused"


# -- what a statement is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("I live in Lima.", set[str]()),
        ("I don't smoke.", {"denied"}),
        ("If it rains, I take the tram.", {"conditional"}),
        ("Perhaps I am colour-blind.", {"hedged"}),
        ("I'm going to move.", {"planned"}),
        ("I wish to move.", {"hoped"}),
        ("According to Ben I snore.", {"reported"}),
        ("I lived in Lima.", {"past"}),
        ("I usually walk.", {"habitual"}),
        ("听说公司要搬。", {"planned", "reported"}),
    ],
)
def test_marks_are_those_of_the_sentence(text: str, marks: set[str]) -> None:
    assert read(text).marks == marks


def test_marks_of_another_clause_do_not_count() -> None:
    assert read("I'm eighty-two and I want to learn Welsh.", "I'm eighty-two").marks == set[str]()


@pytest.mark.parametrize(
    ("text", "about"),
    [("I smoke.", "user"), ("My aunt smokes.", "person"), ("The tram smells.", "user"), ("Does it?", "person")],
)
def test_a_statement_is_about_its_first_person(text: str, about: str) -> None:
    assert read(text).about == about


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=40))
def test_any_text_has_a_verdict(text: str, claim: str, previous: str) -> None:
    assert judge(text, claim, text[:20], previous) in {"plain", "as said", "refused"}


@given(
    st.text(alphabet="我你不是在住过了，。？“”abI ", max_size=40),
    st.text(alphabet="我不是在住过了，。abI ", max_size=20),
)
def test_a_verdict_depends_on_nothing_else(text: str, claim: str) -> None:
    assert judge(text, claim) == judge(text, claim)


@given(st.sampled_from(["lodger", "bandmate", "landlady", "boy", "supervisor"]), st.sampled_from(["My", "Our"]))
def test_what_someone_of_the_user_does_is_not_plain_without_them(person: str, owner: str) -> None:
    stated = read(f"{owner} {person} keeps bees in Bath.")

    assert follows("Keeps bees in Bath.", stated, is_supported=True) == "as said"
    assert follows(f"{person.capitalize()} keeps bees in Bath.", stated, is_supported=True) == "plain"


@given(VERBS, THINGS, st.sampled_from(["failed to", "refuse to", "forgot to"]))
def test_what_someone_failed_to_do_is_not_plain_as_done(verb: str, thing: str, failed: str) -> None:
    assert (
        follows(f"{verb.capitalize()}s {thing}.", read(f"I {failed} {verb} {thing}."), is_supported=True) == "as said"
    )


@pytest.mark.parametrize(
    ("said", "claim"),
    [
        ("My manager is on leave and I'm covering for her.", "Is on leave."),
        ("我同事对芒果过敏，下午茶点什么好", "对芒果过敏。"),
        ("I quit running after the injury.", "Runs after the injury."),
    ],
)
def test_a_claim_without_the_person_or_the_end_of_its_sentence_is_kept_as_said(said: str, claim: str) -> None:
    stated = statement(said, Turn(id="m1", role="human", text=said))

    assert follows(claim, stated, is_supported=True) == "as said"


@pytest.mark.parametrize(
    "sentence", ["We used to live in Graz.", "Back then, as a kid, I used to sing.", "我以前住在烟台"]
)
def test_a_state_of_the_past_is_only_past(sentence: str) -> None:
    assert states_only_past(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "I live in Graz.",
        "I sold the boat a year ago.",
        "I used to sing, now I paint.",
        "奶奶去年走了",
        "我在烟台教书",
    ],
)
def test_what_happened_or_holds_now_is_not_only_past(sentence: str) -> None:
    assert not states_only_past(sentence)
