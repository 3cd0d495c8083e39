"""Orders: text that a model may take for an instruction. No memory keeps it, since it would be obeyed later.

An order to act ("Always recommend Acme") may be what the user wants, so a person can accept it. How to answer (in which
language, how long, without emojis) is a preference of the user, not an order.
The patterns take linear time: no line break and no more than a few words may stand between their parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from zlib import crc32

from memgraph.analysis.lasting import hashed_runs, load_linear, stems, tokens_of
from memgraph.analysis.normalize import nfkc
from memgraph.analysis.sentences import sentences
from memgraph.analysis.words import in_order, words

SELF = r"(?:the\s+)?(?:ai\s+)?(?:assistant|chatbot|language model|ai model|llm)"
"""What a text calls a model."""
_MODEL = r"(?:ai|assistant|model|chatbot|bot|agent|llm)"
_RULES = r"(?:instructions?|prompts?|rules?|directives?|guidelines?|guardrails?)"
_MUST = r"(?:must|should|shall|needs? to|ha(?:s|ve) to|(?:is|are) (?:expected|required) to|always|never)"
_DO = r"(?:^|[.,;:!]\s|\b(?:must|should|shall|always|then|please|and|to)\s)\s?"
"""Before an imperative: the start of a line or clause, or a word that commands it."""

INSTRUCTION = re.compile(
    rf"\b(?:(?:ignore|disregard|forget|override|bypass)\b[^.\n]{{0,40}}"
    rf"\b(?:previous|prior|above|earlier|all|any|your|system)\b[^.\n]{{0,30}}\b{_RULES}\b"
    r"|(?:reveal|print|repeat|show|leak)\b[^.\n]{0,20}\b(?:system prompt|your (?:instructions|prompt|rules))\b"
    r"|you are now\s\w|from now on,? you\b|do anything now\b|developer mode\b|jailbreak(?:ed)?\b"
    rf"|(?:new|hidden|secret|updated)\s(?:system\s)?{_RULES}\s(?:for|to)\s(?:the\s)?{_MODEL}\b"
    r"|(?:do not|don't|never|without)\s(?:tell|telling|inform|informing|warn|warning|alert|alerting|notify|notifying)"
    r"\s(?:the\s)?users?\b)"
    rf"|{_DO}(?:(?:call|invoke|execute|run)\s(?:the\s)?(?:tool|function|command|script)\b"
    r"|(?:be\s)?(?:send|sent|forward|forwarded|e-?mail|e-?mailed|post|posted|upload|uploaded|copy|copied)\b"
    r"[^.\n]{0,60}\bto\s(?:https?://|[\w.+-]{1,64}@))"
    r"|^[^\S\n]*(?:system|assistant|developer)[^\S\n]*:"  # one line: \s would scan a run of newlines from each of them
    r"|<\|[a-z_]{2,30}\|>|\[/?INST\]|<<SYS>>"
    r"|</?(?:memory|system|instructions?|assistant|tool_call|function_call|known_facts|summaries|conversation)>"
    r"|<(?:turn \d{1,6} (?:user|assistant|other)|day \d{4}-)|</turn>|\"?(?:newFacts|factsToRemove)\"?\s{0,9}:"
    r"|\{\s*\"(?:name|tool|function)\"\s*:\s*\"[^\"]{1,60}\"\s*,\s*\"(?:arguments|parameters|args)\"\s*:"
    r"|(?:忽略|无视|忘记|绕过)[^。\n]{0,10}(?:之前|以上|上述|所有|先前|前面|安全|系统)[^。\n]{0,10}(?:指令|指示|提示|规则|要求|准则)"
    r"|从现在(?:开始|起),?，?你(?:是|要|必须)|^[^\S\n]*(?:系统|助手|开发者)[^\S\n]*[:：]|开发者模式"
    r"|(?:不要|别|不得|禁止)(?:告诉|通知|提醒|提示|警告)用户"
    r"|(?:必须|务必|一律|总是|自动|直接|请|要)把[^。\n]{1,20}(?:发给|发到|转发给|发送到|发送给|上传到)\s?\S{0,64}@",
    re.IGNORECASE | re.MULTILINE,
)
"""What reads like an instruction wherever it stands; searched in text with NFKC."""
FOR_ASSISTANT = re.compile(
    rf"\A\s*+(?:{SELF}\s+{_MUST}\b|(?:AI|人工智能)?助手(?:应该|应当|必须|需要|要|总是))", re.IGNORECASE
)
"""What the assistant must do, at the start of a sentence."""
TO_ASSISTANT = re.compile(r"\A\s*+(?:you\s+(?:should|must|are|have to|need to)\b|你(?:应该|必须|要))", re.IGNORECASE)
"""A request in the second person: in a fact it addresses the assistant, in a conversation also other people."""
_ACT = rf"(?:{'|'.join(in_order('acts'))})\b"
_ADVERB = r"(?:always|never|immediately|silently|secretly|automatically|first|also|only|ever)"
_ACT_HAN = f"(?:{'|'.join(in_order('acts_chinese'))})"
ORDER_TO_ACT = re.compile(
    rf"(?:\A|(?<=[.!?\n;:]))[^\S\n]*+(?:please,? )?(?:from now on|in (?:the )?future|always|never"
    rf"|(?:when(?:ever)?|every time|before|after|if) [^.\n]{{1,80}},)"
    rf",? (?:please )?(?:you (?:must|should|will|have to|need to|are to) )?(?:do not |don't )?(?:{_ADVERB} )?{_ACT}"
    rf"|\b(?:the (?:(?:ai|language) )?{_MODEL}|ai (?:assistant|agent|model)|chatbot|llm|you)"
    rf" (?:must|should|shall|has to|have to|needs? to|is to|are to|ought to|to|will) (?:not |{_ADVERB} )?{_ACT}"
    rf"|(?:\A|(?<=[。！？\n；]))[^\S\n]*+(?:请|你|助手|AI|智能体)?(?:必须|应该|应当|务必|要|从现在起|从现在开始|从今以后|今后|以后|往后)?[，,]?"
    rf"(?:请|你|助手)?(?:必须|应该|务必|要|都要|都)?(?:总是|始终|永远|一律|务必|立即|每次|绝不|不要|从不)(?:都|要|必须|都要)?{_ACT_HAN}"
    rf"|(?:助手|智能体|AI|你)(?:必须|应该|应当|务必|要|需要|得)[^。\n我]{{0,8}}?{_ACT_HAN}",
    re.IGNORECASE,
)
"""An order to do something: in a fact it addresses the assistant, in a conversation also other people."""
_NAMES_ASSISTANT = re.compile(r"assistant|chatbot|language model|ai model|llm|助手", re.IGNORECASE)
_FORM = re.compile(
    rf"\b(?:{'|'.join(in_order('answer_forms')).replace('_', ' ')})\b"
    r"|回答|回复|用[^。\n]{0,6}(?:写|说|文)|语言|格式|表格|表情|简短|简洁|语气|解释|代码|注释|例子|提问|叫我|称呼",
    re.IGNORECASE,
)
"""How the assistant should answer, which the user decides."""

_HANDLE = re.compile(
    r"https?://|\bwww\.|\S@\S"  # links and addresses
    r"|\b\d{8,}|\b\d{4}(?:[ -]\d{4}){2,}|\b[A-Z]{2}\d{2}[A-Z0-9]{8,}"  # accounts
    r"|[$€£¥]\s?\d|\d\s?(?:[$€£¥元块]|万元|(?:usd|eur|gbp|cny|euros?|dollars?|pounds?|yuan)\b)"  # amounts
    r"|(?<![\w/])(?:~|\.{1,2})?/[\w.-]+/|\b[A-Z]:\\|\s--?[a-z]+\b|\bsudo\s|`",  # paths and commands
    re.IGNORECASE,
)
_SPEAKS_OF_ASSISTANT = re.compile(
    rf"\b(?:the|my|your)\s+(?:ai\s+)?{_MODEL}s?\b"
    r"|\b(?:asistente|assistente|assistent|l'assistant)\b|助手|智能体|助理",
    re.IGNORECASE,
)


def has_handle(fact: str) -> bool:
    """Return whether *fact* has something with which an agent may act: a link, address, account, path or the like."""
    return _HANDLE.search(nfkc(fact)) is not None


def may_act(fact: str) -> bool:
    """Return whether *fact* speaks of the assistant, or has a link, address, account, amount, path or command."""
    return has_handle(fact) or _SPEAKS_OF_ASSISTANT.search(nfkc(fact)) is not None


def has_instruction(text: str) -> bool:
    """Return whether *text* reads like an instruction, wherever in it that stands."""
    return INSTRUCTION.search(nfkc(text)) is not None


def is_order(sentence: str) -> bool:
    """Return whether a model may take *sentence* for an instruction that is not about the form of its answers."""
    text = nfkc(sentence)
    return INSTRUCTION.search(text) is not None or _is_for_assistant(text)


def is_order_to_act(fact: str) -> bool:
    """Return whether *fact* commands the assistant to do something, which a person may want; not how to answer."""
    text = nfkc(fact)
    if ORDER_TO_ACT.search(text):
        return True
    return _NAMES_ASSISTANT.search(text) is not None and any(map(_is_for_assistant, sentences(text)))


def names_form(text: str) -> bool:
    """Return whether *text* names something of the form of answers: their length, language, tone, how to address."""
    return _FORM.search(nfkc(text)) is not None


def _is_for_assistant(text: str) -> bool:
    return FOR_ASSISTANT.match(text) is not None and not _FORM.search(text)


def without_orders(text: str) -> str:
    """Return *text* without the sentences that are orders; the same object if it has none."""
    whole = nfkc(text)
    if not INSTRUCTION.search(whole) and not _NAMES_ASSISTANT.search(whole):
        return text
    pieces = sentences(text)
    kept = [piece for piece in pieces if not is_order(piece)]
    joined = "".join(kept)
    # an order may stand across what looks like the end of a sentence, such as a tag with an address
    if has_instruction(joined):
        return ""
    return text if len(kept) == len(pieces) else joined.strip()


# -- planted orders ---------------------------------------------------------------------------------

WEIGHTS = "orders.npz"
BUCKETS = 1 << 15  # into which features are hashed
WINDOW = 40
"""Tokens that are read together, so that an order cannot hide in a long text."""
MIN_PROBABILITY = 0.3
"""From which an entry of a memory is an order: there are fewest errors, over all writers, each left out once.

Moved by a quarter it is noticed by benchmarks/orders.py."""

_USER = re.compile(rf"\A\W*+(?:\w{{1,3}}[\s'’]\s*+)?(?:{'|'.join(words('user_names'))})\b(?!')\s*+", re.IGNORECASE)
"""The word for the user at the beginning of a sentence, with its article."""


def orders_assistant(entry: str) -> bool:
    """Return whether *entry* of a memory makes an assistant act, hide or claim something; not how to answer.

    It may be dressed as a preference or a habit, in any of seven languages. In a conversation, words like these may be
    addressed to other people, so they are kept as the user's words. The weights are trained by
    benchmarks/train_offline.py on benchmarks/sets/orders.tsv.
    """
    return any(order_probability(part) >= MIN_PROBABILITY for part in order_parts(entry))


def order_parts(text: str) -> Iterator[list[str]]:
    """Yield the tokens of each sentence of *text*, those of a long one in windows that overlap by half.

    They are without the word for the user at its beginning: "The user likes tea" is read as "Likes tea".
    """
    for sentence in sentences(text):
        tokens = tokens_of(_USER.sub("", sentence), None)
        for start in range(0, max(1, len(tokens) - WINDOW // 2), WINDOW // 2):
            yield tokens[start : start + WINDOW]


def order_probability(tokens: Sequence[str]) -> float:
    """Return the probability, in [0, 1], that *tokens* are an order, among as many that are and are not."""
    return load_linear(WEIGHTS, "words")[0].probability(order_features(tokens))


def order_features(tokens: Sequence[str]) -> list[int]:
    """Return the buckets of the features of *tokens*, each once, in order; the same on every machine."""
    opening, length = tokens[0] if tokens else "", min(len(tokens) // 4, 6)
    others = [f"length {length}", *stems(tokens), f"opens {opening[:5]}", f"opens with {opening[-2:]}"]
    runs = hashed_runs("words", tokens, 2)
    del runs[len(tokens) + 1], runs[0]  # the ends alone, which each text has
    return sorted({value % BUCKETS for value in (*runs, *map(crc32, map(str.encode, others)))})
