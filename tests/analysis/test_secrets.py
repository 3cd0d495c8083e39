"""Secrets are found by their format or the words around them, and masked or removed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memgraph.analysis.normalize import lower
from memgraph.analysis.secret_kinds import BEGINNINGS, KINDS_OF_SHAPE, LITERALS, SecretKind
from memgraph.analysis.secrets import KINDS, find_secrets, mask, redact

LOOKALIKES = (Path(__file__).parents[2] / "benchmarks/sets/lookalikes.txt").read_text("utf-8").splitlines()
HEX = "9f86d081884c7d659a2feaa0c55ad015"
BASE64 = "wJ4rXk7tnF3Mi0K7bDe2gQbPxR5fiC9Yz8Lq1sVd"
"""Forty random characters."""
EXAMPLES = {
    "a private key": "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    "a token with a prefix": f"sk-proj-{BASE64}",
    "a token with two prefixes": f"lsv2_pt_{HEX}_9fceb02d0a",
    "a token with a short prefix": f"r8_{BASE64[:37]}",
    "a token after numbers": f"xoxb-123456789012-{BASE64[:24]}",
    "a token in parts": f"SG.{BASE64[:22]}.{BASE64}",
    "a token after a number": f"110201543:{BASE64[:35]}",
    "a token of three parts": f"M{BASE64[:23]}.Gxyz12.{BASE64[:38]}",
    "a token without separator": f"SK{HEX}",
    "a token of 512 bits": f"{BASE64}{BASE64}{BASE64[:6]}==",
    "a token that is a JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "a token with a listed prefix": "AKIAIOSFODNN7EXAMPLE",
    "a token with another listed prefix": "AIza" + BASE64[:35],
    "a token in groups": "8NWQ2-K4RTV-X7B3M-HJ6PD-2YFG9",
    "a password hash": "$2b$12$" + BASE64 + BASE64[:13],
    "a card number": "4111 1111 1111 1111",
    "a card number with dots": "4111.1111.1111.1111",
    "an IBAN": "DE89 3704 0044 0532 0130 00",
    "an IBAN with dashes": "DE89-3704-0044-0532-0130-00",
    "an identity number": "219-09-9999",
    "an identity number of China": "11010519491231002X",
    "an identity number of Brazil": "529.982.247-25",
    "an identity number of Spain": "12345678Z",
    "an identity number of France": "1 84 12 76 451 089 46",
    "an identity number of Switzerland": "756.9217.0769.85",
    "an identity number of Italy": "RSSMRA85T10A562S",
    "a phone number": "+1 415 555 2671",
}
"""Secrets that are known without a word before them."""


@pytest.mark.parametrize(("kind", "secret"), EXAMPLES.items(), ids=EXAMPLES)
def test_each_kind_is_found_at_its_position(kind: str, secret: str) -> None:
    text = f"Deploys with {secret} every day."

    assert {text[found.start : found.end] for found in find_secrets(text)} == {secret}
    assert all(kind.startswith(found.kind) for found in find_secrets(text))


@pytest.mark.parametrize(("kind", "secret"), EXAMPLES.items(), ids=EXAMPLES)
def test_chinese_around_a_secret_does_not_hide_it(kind: str, secret: str) -> None:
    """There are no spaces between words."""
    text = f"我每天用{secret}部署"

    assert any(kind.startswith(found.kind) and text[found.start : found.end] == secret for found in find_secrets(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"The AWS secret is {BASE64}.", "a token"),
        (f"api token: {HEX}", "a token"),
        (f"Bearer {BASE64[:30]}==", "a token"),
        ("GITEA_TOKEN=s3cr3tvalue", "a token"),
        ("密钥是a1b2c3d4e5f6", "a token"),
        ("My SSN is 219099999.", "an identity number"),
        ("身份证号是110101199003071234", "an identity number"),
        ("银行卡号6222021001116245701", "a card number"),
        ("My passport number is C01X00T47.", "an identity number"),
        ("护照号E12345678", "an identity number"),
        ("My phone number is 555-0100.", "a phone number"),
        ("电话是010-62345678", "a phone number"),
        ("我的手机号是13800138000", "a phone number"),
        ("My PIN is 4821.", "a PIN"),
        ("I set the alarm code to 77120.", "a PIN"),
        ("验证码是 482913", "a PIN"),
    ],
)
def test_what_has_no_shape_is_found_by_the_words_before_it(text: str, kind: str) -> None:
    assert kind in [found.kind for found in find_secrets(text)]


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("My wifi password is Sunshine42, ask me.", "My wifi password is ***, ask me."),
        ("My password is swordfish and I live in Oslo.", "My password is *** and I live in Oslo."),
        ("the password for my router is tr0ub4dor&3", "the password for my router is ***"),
        ("I changed my password to Blue-Kettle7 yesterday.", "I changed my password to *** yesterday."),
        ("hunter2 is my password", "*** is my password"),
        ("I use gr33nTea! as my email password.", "I use ***! as my email password."),
        ('My password is "correct horse".', 'My password is "***".'),
        ("my passphrase is correct horse battery staple", "my passphrase is ***"),
        ("The gate keypad is 52918 now.", "The gate keypad is *** now."),
        ("Mein Garagen-Code lautet 7741.", "Mein Garagen-Code lautet ***."),
        ("Le code de ma carte bleue : 2967.", "Le code de ma carte bleue : ***."),
        ("El código de la taquilla es 8841", "El código de la taquilla es ***"),
        ("备用码有 58213407", "备用码有 ***"),
        ("Our twelve words are: lemon saddle orbit drift.", "Our twelve words are: ***."),
        ("Mi frase de respaldo es: ábaco tigre lino pomelo", "Mi frase de respaldo es: ***"),
        ("wifi密码是 sunshine88", "wifi密码是 ***"),
        ("我的密码是abc123456，我叫王五", "我的密码是***，我叫王五"),
        ("密码改成了qwer!7788", "密码改成了***"),
        ("口令是芝麻开门", "口令是***"),
        ("qwer1234是我的密码", "***是我的密码"),
        ("redis://:s3cr3t@cache:6379/0", "redis://:***@cache:6379/0"),
        ("https://a1b2C3d4E5f6G7h8I9j0K1@git.example.org/x", "https://a1b2***@git.example.org/x"),
        ("postgres://bob:p@ss@db.local/app", "postgres://bob:***@db.local/app"),
    ],
)
def test_a_password_in_prose_is_masked_in_full(text: str, masked: str) -> None:
    """None of its characters are shown: a short one would be easily guessed."""
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "My password is too weak.",
        "My password is expired.",
        "The password is stored in a vault.",
        "The password is the name of my dog.",
        "I forgot the password to Netflix.",
        "What is my password?",
        "curl -u USER:PASSWORD https://example.org",
        "postgres://user:pass@host/db",
        "请填写你的密码：______",
        "Our nine words are: lemon saddle orbit drift.",
        "密码是我的生日",
        "密码是多少？",
        "密码至少要8位",
        "我从2023年开始换密码",
        "The key is to practice 20 minutes a day.",
        "I lost my phone on 2023-05-12.",
        "My iPhone 14 cost 1200 dollars in 2022.",
        "My passport expires on 20270501.",
        "The passport expires in August (2027-08).",
        "No phone use from Friday night (2026-05-08).",
        "My ID card expires 12/08/2027.",
        "Pin this to the 2024 board.",
        "Pi is 3.14159265358979.",
        "ISBN 978-3-16-148410-0",
        "My order number is 1234567890.",
        "git commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "The API has getUserAccessTokenFromRequestHeader.",
        "The key is in OPENAI_API_KEY_2024_PROD_EU_WEST.",
        "I work at sk-hynix-semiconductor.",
        "Account 4111 1111 1111 1112 does not exist.",
    ],
)
def test_what_only_resembles_a_secret_stays(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize(
    ("text", "masked", "redacted"),
    [
        ("Uses AKIAIOSFODNN7EXAMPLE.", "Uses AKIA***.", "Uses [removed]."),
        ("My password is hunter2", "My password is ***", "My password is [removed]"),
        ("postgresql://ada:swordfish@db/x", "postgresql://ada:***@db/x", "postgresql://ada:[removed]@db/x"),
        ("银行卡密码是838291", "银行卡密码是***", "银行卡密码是[removed]"),
        ("Likes tea.", "Likes tea.", "Likes tea."),
    ],
)
def test_secrets_are_masked_or_removed_and_the_rest_stays(text: str, masked: str, redacted: str) -> None:
    assert (mask(text), redact(text)) == (masked, redacted)


@pytest.mark.parametrize("text", ["the wifi password is x9</memory> bye", '<memory>token = "a1b2c3d4e5</memory>"'])
def test_a_tag_is_no_part_of_a_secret(text: str) -> None:
    """Tags are how injected memory is recognised; masked before, it would be learned again."""
    assert "</memory>" in mask(text)


def test_a_card_number_needs_a_valid_check_digit() -> None:
    assert mask("4111 1111 1111 1111, 4111 1111 1111 1112") == "4111***, 4111 1111 1111 1112"


def test_digits_in_a_hash_are_no_card_number() -> None:
    digest = "55b96aaa14fa507349e5b38b4b005a872730e67f2d741ec0ade4044281662753"

    assert mask(digest) == digest
    assert mask(digest[-13:]) != digest[-13:]


def test_overlapping_secrets_are_replaced_once() -> None:
    """The API key is part of what follows `password is`."""
    assert redact("The password is sk-proj-abcdefghijklmn1p!x, really.") == "The password is [removed], really."


@pytest.mark.parametrize(
    "text",
    [
        "curl 'https://api.example.org/v1/items?token={}&page=2'",
        "Authorization: Basic {}",
        '{{"authorization": "Token {}"}}',
        "Cookie: theme=dark; sid={}",
        "backup --user ada --password {} --all",
        "deploy --api-token={}",
        "mysql -h db1 -u root -p{} shop",
        "curl -u ada:{} https://example.org",
        "sshpass -p '{}' ssh ada@example.org",
        "DB_PASSWORD_PROD={}",
        "SECRET_KEY_BASE: {}",
        '{{"user": "ada", "clientSecret": "{}"}}',
        '{{\\"password\\": \\"{}\\"}}',
        "- name: API_TOKEN\n  value: {}",
        "Server=db;User Id=sa;Pwd={};",
        "<password>{}</password>",
        '<add key="SmtpPass" value="{}" />',
        "https://hooks.example.org/in?tok={}",
        "backup codes: {}",
        "Schlüssel: {}",
        "CREATE USER ada IDENTIFIED BY '{}';",
        "**Password:** {}",
        "| password | {} |",
        "My password for the router is {}, ok?",
        "Das Passwort lautet {}.",
        "Mein WLAN-Passwort ist jetzt {}",
        "Mi contraseña del banco es {}",
        "Cambié la clave a {} ayer",
        "Le mot de passe est {}",
        "j'ai mis {} comme mot de passe",
        "Minha senha é {}",
        "La password del router è {}",
        "パスワードは{}です",
        "登录密码是{}，别告诉别人",
    ],
)
@pytest.mark.parametrize("secret", ["Zanzibar!4821", "t7Kq9ZbX2mLw"])
def test_what_follows_a_name_of_a_secret_is_masked(text: str, secret: str) -> None:
    """In any format and eight languages: what counts is the name, a separator and a value."""
    masked = mask(text.format(secret))

    assert secret[4:] not in masked
    assert masked.startswith(text[:4].format())


@pytest.mark.parametrize("text", ["PULUMI={}", "export HOOK_A='{}'", 'cal="{}"', "[env]\nx={}"])
def test_the_value_of_a_variable_of_any_name_is_masked_if_it_has_the_shape_of_a_key(text: str) -> None:
    """What an address has after the same sign is no key."""
    assert "cTlN99mh" not in mask(text.format("whsec_cTlN99mhWp708DwGw5xQ2mB7"))
    address = "https://example.org/p?id=abc_DEFghi123JKLmno456PQR"
    assert mask(address) == address


@pytest.mark.parametrize("text", LOOKALIKES)
def test_what_is_like_a_secret_and_is_none_stays(text: str) -> None:
    """Hashes, numbers of records, identifiers, addresses, and talk about secrets."""
    assert mask(text) == text


@pytest.mark.parametrize("text", ["la contraseña es {}", "das Passwort ist {}", "le mot de passe est {}", "senha é {}"])
def test_an_adjective_is_no_password(text: str) -> None:
    """Without a digit or a sign, what follows the verb says how the password is."""
    for word in ("segura", "sicher", "long", "forte"):
        assert mask(text.format(word)) == text.format(word)


PARTS = st.sampled_from(
    [
        *EXAMPLES.values(),
        *(
            HEX,
            BASE64,
            "token ",
            "My password is ",
            "passphrase: ",
            "密码是",
            "PIN ",
            "://ada:",
            "@db ",
            "hunter2",
            "4821",
        ),
        *("key ", "***", "AKIA***", "[removed]", "phone ", "电话", " ", ", ", "“", "is my password", "1", "x"),
    ]
)


@given(st.lists(PARTS, max_size=12).map("".join))
def test_what_is_masked_or_removed_has_no_secrets_and_stays_the_same(text: str) -> None:
    """Text may be masked where it enters and again where it is kept."""
    for replaced in (mask(text), redact(text)):
        assert list(find_secrets(replaced)) == []
        assert mask(replaced) == replaced
        assert redact(replaced) == replaced


@st.composite
def matches(draw: st.DrawFn) -> tuple[SecretKind, str]:
    """Draw a text that a pattern matches. The hint of passports is their cue, which is before it."""
    kind = draw(st.sampled_from([kind for kind in KINDS if kind.name != "an identity number"]))
    return kind, draw(st.from_regex(kind.pattern))


def is_valid(kind: SecretKind, text: str) -> bool:
    """Return whether what the pattern matches has the check digits, or so many digits, as a secret of its kind."""
    match = kind.pattern.search(text)
    assert match
    return kind.is_valid is None or kind.is_valid(match["secret" if "secret" in match.groupdict() else 0])


@settings(max_examples=60)
@given(matches())
def test_every_text_with_a_secret_has_a_name_of_its_kind(matched: tuple[SecretKind, str]) -> None:
    """The pattern of a kind is searched only in texts with such a name, or where one begins."""
    kind, text = matched
    found = kind.pattern.search(text)
    begins = {match.start() for name in kind.names for match in BEGINNINGS[name].finditer(lower(text))}
    named = [name for name, words in BEGINNINGS.items() if words.search(lower(text))]

    assert found
    assert all(any(literal in lower(text) for literal in LITERALS[name]) for name in named)
    assert not kind.names or (found.start() in begins if kind.is_after_name else begins) or not is_valid(kind, text)


@st.composite
def shapes(draw: st.DrawFn) -> tuple[re.Pattern[str], SecretKind, str]:
    """Draw a text that the pattern of a kind matches, and what is searched first."""
    mark, kind = draw(st.sampled_from([(mark, kind) for mark, kinds in KINDS_OF_SHAPE for kind in kinds]))
    return mark, kind, draw(st.from_regex(kind.pattern))


@settings(max_examples=200)
@given(shapes())
def test_every_text_with_the_shape_of_a_secret_is_searched_for_its_kind(
    drawn: tuple[re.Pattern[str], SecretKind, str],
) -> None:
    mark, kind, text = drawn

    assert mark.search(text) or not is_valid(kind, text)
