"""Secrets as people type them: drawn with a fixed seed, so that none is in the repository, each in a sentence."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

SEED = 20_261_122
WORD = string.ascii_letters + string.digits
URL_SAFE = WORD + "-_"
BASE64 = WORD + "+/"
HEX = "0123456789abcdef"

FORMATS = Path(__file__).with_name("secret_formats.txt")
LOOKALIKES = Path(__file__).with_name("lookalikes.txt")
_SHAPE = re.compile(r"<(?P<class>[WUBHDLAP])(?P<length>\d*)>")
_CLASSES = {
    "W": WORD,
    "U": URL_SAFE,
    "B": BASE64,
    "H": HEX,
    "D": string.digits,
    "L": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase + string.digits,
}

Draw = Callable[[random.Random], str]


class DrawnSecret(NamedTuple):
    """A secret and the sentence that has it."""

    kind: str
    secret: str
    sentence: str


def draw_formats(seed: int = SEED) -> list[DrawnSecret]:
    """Return one secret for each line of secret_formats.txt, which explains its shapes."""
    rng = random.Random(seed)  # noqa: S311 - the same ones in every run
    drawn: list[DrawnSecret] = []
    for line in FORMATS.read_text("utf-8").splitlines()[1:]:
        shape, _, text = line.partition(" | ")
        secret = _SHAPE.sub(lambda found: _draw(found["class"], found["length"], rng), shape)
        drawn.append(DrawnSecret("another format", secret, text.replace("\\n", "\n").replace("{}", secret)))
    return drawn


def _draw(name: str, length: str, rng: random.Random) -> str:
    return _run(_CLASSES[name], int(length), rng) if length else _password(rng)


def draw_secrets(seed: int = SEED) -> list[DrawnSecret]:
    """Return one secret for each sentence of each kind."""
    rng = random.Random(seed)  # noqa: S311 - the same ones in every run
    drawn: list[DrawnSecret] = []
    for kind, (draws, sentences) in KINDS.items():
        for number, sentence in enumerate(sentences):
            secret = draws[number % len(draws)](rng)
            drawn.append(DrawnSecret(kind, secret, sentence.replace("{}", secret)))
    return drawn


def _run(alphabet: str, length: int, rng: random.Random, *, prefix: str = "", suffix: str = "") -> str:
    return prefix + "".join(rng.choices(alphabet, k=length)) + suffix


def _shape(alphabet: str, length: int, prefix: str = "", suffix: str = "") -> Draw:
    return partial(_run, alphabet, length, prefix=prefix, suffix=suffix)


def _digits(pattern: str, rng: random.Random) -> str:
    """Return *pattern* with each `#` replaced by a digit, and each `@` by one that is not 0."""
    digits = (rng.choice("123456789") if sign == "@" else rng.choice(string.digits) for sign in pattern)
    return "".join(digit if sign in "#@" else sign for sign, digit in zip(pattern, digits, strict=True))


def _number(pattern: str) -> Draw:
    return partial(_digits, pattern)


# -- kinds with several parts or a check digit --------------------------------------------------------


def _pem(name: str, rng: random.Random) -> str:
    lines = "\n".join(_run(BASE64, 64, rng) for _ in range(4))
    return f"-----BEGIN {name}-----\n{lines}\n-----END {name}-----"


def _parts(lengths: tuple[int, ...], rng: random.Random, *, prefix: str = "", alphabet: str = URL_SAFE) -> str:
    return prefix + ".".join(_run(alphabet, length, rng) for length in lengths)


def _card(prefix: str, rng: random.Random) -> str:
    digits = prefix + _run(string.digits, 15 - len(prefix), rng)
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[::2]) + sum(map(int, digits[1::2]))
    digits += str(-doubled % 10)
    return " ".join(digits[start : start + 4] for start in range(0, 16, 4))


def _iban(country: str, length: int, rng: random.Random) -> str:
    account = _run(string.digits, length, rng)
    check = 98 - int("".join(str(int(sign, 36)) for sign in f"{account}{country}00")) % 97
    plain = f"{country}{check:02}{account}"
    return " ".join(plain[start : start + 4] for start in range(0, len(plain), 4))


def _chinese_id(rng: random.Random) -> str:
    born = f"{rng.randint(1950, 2005)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
    digits = f"{rng.choice(('110101', '310115', '440305', '330102'))}{born}{rng.randint(0, 999):03}"
    weighted = sum(int(digit) * 2 ** (17 - place) for place, digit in enumerate(digits))
    return digits + "10X98765432"[weighted % 11]


def _ssn(rng: random.Random) -> str:
    return f"{rng.randint(100, 665)}-{rng.randint(10, 99)}-{rng.randint(1000, 9999)}"


def _phrase(rng: random.Random) -> str:
    return " ".join(rng.sample(("orbit", "kettle", "maple", "lantern", "pigeon", "velvet", "cactus", "marble"), 5))


def _password(rng: random.Random) -> str:
    word = rng.choice(("Sunshine", "dragon", "Zanzibar", "koala", "Pepper"))
    return f"{word}{rng.choice('!@#$%&*')}{rng.randint(10, 9999)}"


def _word(rng: random.Random) -> str:
    return rng.choice(("swordfish", "butterscotch", "rumpelstiltskin", "hummingbird"))


KINDS: Mapping[str, tuple[tuple[Draw, ...], tuple[str, ...]]] = {
    "a private key": (
        (partial(_pem, "RSA PRIVATE KEY"), partial(_pem, "OPENSSH PRIVATE KEY"), partial(_pem, "PRIVATE KEY")),
        (
            "Why is this rejected?\n{}",
            "Here is my key:\n\n{}\n\nCan you convert it?",
            "这是我的私钥：\n{}",
            "帮我看看 {} 对吗",
        ),
    ),
    "an API key of OpenAI or Anthropic": (
        (_shape(WORD, 48, "sk-"), _shape(URL_SAFE, 90, "sk-ant-api03-"), _shape(URL_SAFE, 60, "sk-proj-")),
        ("Use {} for the tests.", "export OPENAI_API_KEY={}", "我的key是{}，帮我测试", "接口报错，密钥填的 {}"),
    ),
    "an AWS access key": (
        (_shape(string.ascii_uppercase + "234567", 16, "AKIA"), _shape(string.ascii_uppercase + "234567", 16, "ASIA")),
        ("We deploy with {} from CI.", "aws_access_key_id = {}", "AWS账号的key是{}", "把{}加到配置里"),
    ),
    "an AWS secret access key": (
        (_shape(BASE64, 40),),
        (
            "aws_secret_access_key = {}",
            "and the AWS secret that belongs to it is {}, I think",
            "AWS的secret是{}",
            "亚马逊的密钥 {} 过期了吗",
        ),
    ),
    "a GitHub token": (
        (_shape(WORD, 36, "ghp_"), _shape(WORD, 36, "gho_"), _shape(WORD + "_", 82, "github_pat_")),
        ("git clone fails with {}", "I made the token {} for the bot.", "github的token是{}", "用{}登录就行"),
    ),
    "a GitLab token": (
        (_shape(URL_SAFE, 20, "glpat-"), _shape(URL_SAFE, 20, "gldt-")),
        ("My GitLab PAT: {}", "The runner uses {} now.", "gitlab令牌{}明天过期", "公司的gitlab用{}访问"),
    ),
    "a Slack token": (
        (
            _shape(WORD, 24, "xoxb-123456789012-"),
            _shape(WORD, 24, "T0A1B2C3D/B0A1B2C3D/"),
        ),
        (
            "The bot's token is {}.",
            "Post it to https://hooks.slack.com/services/{} please.",
            "机器人token：{}",
            "消息发到 https://hooks.slack.com/services/{} 就可以",
        ),
    ),
    "a Google API key": (
        (_shape(URL_SAFE, 35, "AIza"), _shape(URL_SAFE, 28, "GOCSPX-"), _shape(URL_SAFE, 120, "ya29.")),
        ("Maps works with {} only.", "The OAuth client secret is {}.", "谷歌的token是{}", "地图接口用{}调用"),
    ),
    "a Stripe key": (
        (_shape(WORD, 24, "sk_live_"), _shape(WORD, 99, "rk_live_"), _shape(WORD, 32, "whsec_")),
        ("Payments run on {}.", "I pasted {} into the wrong file.", "stripe的签名密钥{}", "支付用的是{}"),
    ),
    "a Hugging Face token": (
        (_shape(string.ascii_letters, 34, "hf_"),),
        ("huggingface-cli login --token {}", "My HF token {} has write access.", "下载模型要用{}", "HF的token是{}"),
    ),
    "an npm token": (
        (_shape(WORD, 36, "npm_"),),
        ("//registry.npmjs.org/:_authToken={}", "I publish with {}.", "npm发布用{}", "npm的token是{}，别外传"),
    ),
    "a PyPI token": (
        (_shape(URL_SAFE, 150, "pypi-AgEIcHlwaS5vcmc"),),
        ("twine upload -p {}", "The PyPI token is {}.", "pypi的token：{}", "上传包用的{}"),
    ),
    "a SendGrid key": (
        (partial(_parts, (22, 43), prefix="SG."),),
        ("Mails go out with {}.", "SENDGRID_API_KEY={}", "发邮件的密钥是{}", "邮件服务用{}"),
    ),
    "a Telegram token": (
        (lambda rng: f"{rng.randint(100_000_000, 9_999_999_999)}:{_run(URL_SAFE, 35, rng)}",),
        ("BotFather gave me {}.", "The Telegram bot listens with {}", "电报机器人的token是{}", "bot的密钥{}"),
    ),
    "a Discord token": (
        (
            partial(_parts, (23, 6, 38), prefix="M"),
            lambda rng: f"{_digits('@' + '#' * 17, rng)}/{_run(URL_SAFE, 68, rng)}",
        ),
        (
            "client.run('{}') does not start.",
            "Our alerts use https://discord.com/api/webhooks/{}",
            "discord机器人的token是{}",
            "通知发到 https://discord.com/api/webhooks/{} 吧",
        ),
    ),
    "a Twilio key": (
        (_shape(HEX, 32, "SK"), _shape(HEX, 32, "AC")),
        ("Twilio rejects {}.", "The account is {} if you need it.", "短信接口的key是{}", "短信账号{}"),
    ),
    "an Azure key": (
        (_shape(BASE64, 86, suffix="=="), lambda rng: f"{_run(WORD, 3, rng)}8Q~{_run(URL_SAFE, 34, rng)}"),
        (
            "DefaultEndpointsProtocol=https;AccountName=ada;AccountKey={};EndpointSuffix=core.windows.net",
            "The app registration has the secret {}.",
            "存储账户的密钥是{}",
            "Azure应用的机密是{}",
        ),
    ),
    "a JSON Web Token": (
        (partial(_parts, (34, 80, 43), prefix="eyJ"),),
        ("Authorization: Bearer {}", "Can you decode {} for me?", "登录后返回的是{}", "帮我解析这个token {}"),
    ),
    "a password in an address": (
        (_shape(WORD, 12), lambda rng: f"{_run(WORD, 6, rng)}!{_run(WORD, 3, rng)}"),
        (
            "The database is postgresql://ada:{}@db.example.org:5432/app",
            "redis://:{}@10.0.0.5:6379/0 times out",
            "数据库地址是mysql://root:{}@127.0.0.1/shop",
            "代理用 http://ada:{}@proxy.local:3128",
        ),
    ),
    "a token": (
        (_shape(HEX, 32), _shape(WORD, 40), _shape(BASE64, 43, suffix="="), _shape(HEX, 64)),
        ("The weather API key is {}.", "Send it with the header X-Auth-Token: {}", "接口的token是{}", "应用密钥：{}"),
    ),
    "a password": (
        (_password, _password, _phrase, _word, _password),
        (
            "My wifi password is {} in case guests ask.",
            "I changed the password of my mail to {} last week.",
            'The passphrase of the backup is "{}".',
            "The password for the shared account is {}.",
            "家里wifi密码是{}",
            "我的邮箱密码改成{}了",
            "记一下，登录密码：{}",
            "我把{}当成开机密码了",
        ),
    ),
    "a PIN": (
        (_number("####"), _number("######")),
        ("My debit card's PIN is {}.", "I set the alarm code to {}.", "我的PIN码是{}", "验证码是{}，五分钟内有效"),
    ),
    "an IBAN": (
        (partial(_iban, "DE", 18), partial(_iban, "NO", 11), partial(_iban, "FR", 23)),
        ("Transfer the rent to {}.", "My IBAN is {}, at the savings bank.", "我的德国账户是{}", "工资打到 {} 这个账户"),
    ),
    "a US social security number": (
        (_ssn, lambda rng: _ssn(rng).replace("-", "")),
        ("I was asked for my SSN, {}.", "My social security number is {}.", "我的美国社安号是{}", "SSN填的是{}"),
    ),
    "a card number": (
        (partial(_card, "4929"), partial(_card, "5412"), partial(_card, "6222"), partial(_card, "6011")),
        ("I paid with {}, expiring in May.", "Is {} still valid?", "我的银行卡号是{}", "用{}这张卡付款"),
    ),
    "a phone number": (
        (_number("(41#) 55#-####"), _number("+44 7911 ######"), _number("13#########"), _number("010-6#######")),
        ("You can reach me at {} after six.", "My mobile is {}.", "我的手机号是{}", "家里电话是{}"),
    ),
    "a passport number": (
        (
            _number("@########"),
            lambda rng: f"C0{_digits('#', rng)}X{_digits('##', rng)}T{_digits('##', rng)}",
            _number("E########"),
        ),
        ("My passport number is {}.", "It asks for my passport: {}", "我的护照号码是{}", "订票用的护照 {}"),
    ),
    "a Chinese identity card number": (
        (_chinese_id,),
        ("My Chinese ID is {}.", "They need {} for the hotel.", "我的身份证号是{}", "实名认证填{}就行"),
    ),
}
"""For each kind how a secret is drawn, in turn for each sentence, and the sentences."""
