"""Detect mentions of uploaded files: a memory must not refer an agent to a file that no longer exists.

An upload is an event, in the past tense or about one file ("the uploaded report"). Building
something that accepts uploads is work, and worth remembering.
"""

from __future__ import annotations

import re
from functools import cache

from memgraph.text.message import UPLOADS, without_blocks
from memgraph.text.normalize import fold
from memgraph.text.sentences import sentences

_NOUNS = """
    file document doc pdf spreadsheet sheet csv tsv image photo picture screenshot video audio recording attachment
    report slide deck presentation workbook dataset archive zip log resume cv transcript contract invoice docx xlsx
    pptx txt json notebook diagram scan paper thesis data
"""
_NOUN = "(?:" + "|".join(_NOUNS.split()) + ")"
_FILE_NAME = r"(?<![\w()-])[\w()-]++(?:\.[\w-]{1,30}){0,4}\.[a-z]\w{1,4}\b"
_THING = rf"(?:{_NOUN}s?\b|{_FILE_NAME})"
_ONE = r"(?:an?|the|this|that|these|his|her|their|my|its|one|two|three|four|five|several|some|multiple|many|few|\d+)"
_NO_LINK = r"(?!(?:to|of|on|about|for|with|that|how|link|url|links|path|by|from|in|into|via)\b)"
_SUCH = rf"(?:{_NO_LINK}[\w'\"-]+ ){{0,5}}"
"""Words between an article and its noun."""
_LATELY = (
    r"(?:(?:has|have|had|also|just|recently|then|already|previously|first|later|once|again|now|earlier|today|yesterday)"
    r" )*"
)
_THE_USER = r"(?<!\ba )(?<!each )(?<!every )(?<!any )(?<!or )\buser,?"
_ITEM = r"^[-*]? ?"
"""The start of a sentence, or of an item in a list."""
_SUBJECT = rf"(?:{_THE_USER} |{_ITEM})"
"""The user, named or implied at the start of a sentence."""
_UPLOADING = r"(?:re-?)?(?:uploading|attaching)"
_IS_DOING = (
    rf"(?:is|was|has been|have been|had been|keeps|kept|began|begins|started|starts|finished|continued|tried|mentioned)"
    rf" {_LATELY}(?:(?:currently|still) )?{_UPLOADING}"
)
_PERFORMED = r"(?:performed|performs|completed|did|initiated|conducted|executed|carried out|started|attempted|finished)"
_AN = r"(?:an?|another|one|two|three|several|some|multiple|many|\d+)"
_FOR_YEARS = r"(?:since (?:19|20)\d\d|for (?:\w+ )?(?:years|months|decades)|for a living|professionally)\b"
"""A pastime or a trade, not an event of the conversation."""
_CHAT = (
    r"(?:the|this|our) (?:current )?(?:chat|conversation|assistant|session)\b"
    r"(?! (?:app|service|server|tool|room|widget|bot))"
)
_BY_THE_WAY = r"(?:of|to|for|in|with|and|during|by|as|using|before|after|from|via)\b"

_ZH_THING = (
    r"(?:文件|档案|文档|报告|图片|照片|表格|附件|截图|视频|录音|资料|数据|简历|合同|论文|代码|"
    r"pdf|csv|excel|word|ppt|\w\.\w{2,4}\b)"
)
_ZH_UPLOAD = r"(?:上传|上载)"
_ZH_USER = r"(?<![当每若让使])(?<!如果)(?<!一旦)(?<!多个)(?<!每个)(?<!所有)(?:用户|使用者)"
_ZH_JUST = r"(?:已|已经|刚|刚刚|曾|曾经)"
_ZH_ONE = r"[\d一两三四五几多]"
_SAME = r"[^,。;!?\n]"
"""Any character of the same clause."""
_ZH_DIRECTLY = r"(?:(?!支持|允许|可以|让|开发|实现|负责)[^,。;!?\n])"
"""Any character of the same clause, but not the start of a word for building something that accepts uploads."""
_ZH_ADVERB = r"(?:目前|当前|最近|今天|昨天|刚才|还|也|又|已经?|曾经?|分别|重新|陆续|多次|反复|持续|继续|不断)"
_ZH_IS_DOING = r"(?:正在|正|在|一直在|尝试|试图|开始|继续|重新|陆续|多次|反复|持续|不断)"
_ZH_PRODUCT = r"(?:的|时的)?(?:功能|接口|组件|模块|服务|系统|流程|按钮|脚本|工具|插件|代码|逻辑)"


def _any_of(*patterns: str) -> str:
    return "|".join(patterns)


HINTS = (
    *("upload", "attach", "shared", "sharing", "provided", "sent ", "sending", "submitted", "supplied"),
    *("上传", "上载", "附", "了", "助手", "对话"),
)
"""A text without any of these mentions no upload; a cheap check before the patterns."""
_HINT_WORDS = tuple(hint.strip() for hint in HINTS if hint.isascii())

TRACES = _any_of(r"/?mnt/user-data/uploads", r"user-data/uploads/", r"</?(?:uploaded_files|current_uploads)\b")
"""What only an upload leaves in a text: its path, its tag."""

EVENTS = _any_of(
    rf"{_THE_USER} {_LATELY}(?:re-?)?(?:uploaded|attached)\b",
    rf"\b(?:i|he|she|they)(?:'ve)? {_LATELY}(?:re-?)?(?:uploaded|attached) {_SUCH}{_THING}",
    rf"(?:\b(?:user|i|he|she) |{_ITEM}){_LATELY}(?:shared|provided|sent|submitted|supplied) {_ONE} {_SUCH}{_THING}",
    rf"{_ITEM}{_LATELY}(?:re-?)?uploaded (?!files\b|images\b|by\b|to\b)",
    rf"{_ITEM}{_LATELY}uploaded (?:file|image)s? (?!(?:are|is|must|should|gets?|will|can|need|may)\b)",
    rf"{_ITEM}{_LATELY}attached {_SUCH}{_THING}",
    r"^(?:file )?(?:uploads?|attachments?):",
    r"\buploaded by (?:the |this )?user\b",
    rf"{_THE_USER} {_LATELY}{_IS_DOING} {_SUCH}{_THING}(?!.{{0,80}}\b{_FOR_YEARS})",
    rf"{_ITEM}{_LATELY}(?:is|was|been) {_LATELY}{_UPLOADING} {_SUCH}{_THING}(?!.{{0,80}}\b{_FOR_YEARS})",
    rf"{_SUBJECT}{_LATELY}(?:began|started|finished|tried|mentioned) {_UPLOADING} {_ONE} {_SUCH}{_THING}",
    rf"{_SUBJECT}{_LATELY}(?:tried|attempted|started|began|managed|failed|(?:was|is) (?:trying|attempting)) to "
    rf"(?:re-?)?(?:upload|attach) {_SUCH}{_THING}",
    rf"{_SUBJECT}{_LATELY}(?:tested|verified|checked|tried|demonstrated|showed|started|began|opened|explored|evaluated)"
    rf" (?:[\w'-]+ ){{0,8}}?by {_UPLOADING} {_SUCH}{_THING}",
    rf"{_THE_USER} {_LATELY}\w+ed (?:[\w'-]+ ){{0,8}}?(?:by|after|while) {_UPLOADING} {_ONE} {_SUCH}{_THING}",
    rf"{_ITEM}(?:(?:by|after|upon|while) )?{_UPLOADING} {_ONE} {_SUCH}{_THING}.{{0,60}}?,? (?:the )?user\b(?!s)",
    rf"{_SUBJECT}{_LATELY}(?:is )?{_PERFORMED} {_AN} {_SUCH}uploads?\b(?= {_BY_THE_WAY}|[.,;:!?)]|$)",
    rf"{_SUBJECT}{_LATELY}(?:made|makes) {_AN} {_SUCH}uploads? of\b",
    rf"{_SUBJECT}{_LATELY}engaged in (?:[\w-]+ ){{0,2}}uploading\b",
    rf"{_THE_USER} uploads {_SUCH}{_THING} (?:and (?:asks|requests)|for (?:analysis|review|summar|edit|translat))",
    r"^上传(?:的)?文件:",
    rf"{_ZH_USER}{_ZH_DIRECTLY}{{0,10}}?{_ZH_UPLOAD}"
    rf"(?:了|过| ?{_ZH_ONE}{_SAME}{{0,3}}[份个张篇段些]| ?[\w.-]+\.\w{{2,4}})",
    rf"{_ZH_USER}{_SAME}{{0,10}}?(?:{_ZH_JUST}{_ZH_UPLOAD}|附[上加]了)",
    rf"{_ITEM}(?:我|他|她|{_ZH_JUST}|今天|昨天|之前|又|还)*{_ZH_UPLOAD}(?:了|过| ?[\w-]+(?:\.[\w-]+)*\.\w{{2,4}})",
    rf"{_ITEM}(?:我|他|她)?{_ZH_JUST}{_ZH_UPLOAD}",
    rf"(?:用户|使用者|我|他|她|{_ITEM})(?:{_ZH_JUST}|还|也|又)*"
    rf"(?:提供|分享|发送|发来|发|提交)了 ?{_ZH_ONE}(?!篇)[^,。;!?\n给向跟]{{0,15}}{_ZH_THING}",
    rf"(?:{_ZH_USER}|{_ITEM}){_ZH_ADVERB}*{_ZH_IS_DOING}+{_ZH_UPLOAD}{_SAME}{{0,12}}?{_ZH_THING}(?!{_ZH_PRODUCT})",
    rf"(?:{_ZH_USER}{_ZH_DIRECTLY}{{0,12}}?|{_ITEM})通过{_ZH_UPLOAD}{_SAME}{{0,12}}?{_ZH_THING}"
    rf"(?!{_SAME}{{0,20}}(?:赚|收入|粉丝|谋生|为生))",
    rf"(?:{_ZH_USER}|{_ITEM}){_ZH_ADVERB}*(?:进行|执行|完成|做|发起|开始)(?:了|过)(?:{_ZH_ONE}+次)?(?:{_ZH_THING}|测试|新)*"
    rf"的?{_ZH_UPLOAD}(?:操作|动作|测试|任务)?(?=[,。;!?、\n和并以后]|$)",
    rf"(?:把|将){_SAME}{{0,20}}?{_ZH_UPLOAD}(?:给|到|至)了?(?:助手|本次|当前|这次)?(?:助手|对话|会话|聊天)",
)
"""An upload, regardless of the rest of the sentence."""

LIKELY = _any_of(
    rf"\b(?:uploaded|attached) {_ONE} {_SUCH}{_THING}",
    rf"\b(?:user|he|she|is) ?(?:uploads|attaches|uploading|attaching) {_ONE} {_SUCH}{_THING}",
    rf"{_THING} (?:[\w.'\"-]+ ){{0,6}}?(?:was|were|has been|have been|had been|got|is) {_LATELY}"
    r"(?:uploaded|attached)\b",
    rf"{_THING} are attached\b",
    rf"\b(?:{_ONE}|user's|newly|recently|previously|latest|from|in|per) (?:(?:newly|recently|just|same|first) )?"
    rf"(?:user-)?(?:uploaded|attached) {_SUCH}{_THING}",
    r"\b(?:the|this|an?|user's|latest|recent) (?:upload|attachment)s? "
    r"(?:contain|show|include|describe|mention|list|say)",
    r"\b(?:in|from|per|to) (?:the|this|user's) (?:upload|attachment)s?\b",
    rf"\b(?:upload|attach|share|send|uploads|uploading|attaching|sharing|sending|shared) {_SUCH}{_THING}"
    rf" (?:[\w'-]+ ){{0,6}}?(?:to|with|in|into|during) {_CHAT}",
    rf"\b(?:uploads|uploading) (?:[\w'-]+ ){{0,6}}?{_THING} (?:in|during) {_CHAT}",
    r"\b(?:an?|the|several|two|file|document|image) (?:[\w-]+ )?uploads? (?:was|were|has been|have been|had been) "
    r"(?:performed|completed|made|conducted|done|initiated|carried out|received)\b",
    rf"\bthe upload of (?:{_ONE} )?{_SUCH}{_THING} (?:was|were|has|have|had)\b",
    rf"\b(?:user's|(?:following|after|upon) the) (?:{_NOUN} )?uploads? of (?:{_ONE} )?{_SUCH}{_THING}",
    r"\buploads? of [^,;]{1,60}? by the user\b",
    rf"\buser's (?:(?:{_NOUN}|recent|latest|test) )?uploads? (?:was|were|contain|show|include|is|are|has|have|had)",
    rf"(?:已|刚|刚刚|新|曾)(?:经)?{_ZH_UPLOAD}|{_ZH_UPLOAD}了|被{_ZH_UPLOAD}",
    rf"{_ZH_UPLOAD}的{_SAME}{{0,12}}?{_ZH_THING}",
    rf"{_ZH_USER}{_ZH_ADVERB}*{_ZH_UPLOAD}{_SAME}{{0,8}}?{_ZH_THING}(?:后|时|并|以便?|供|请|要求|来|,|。|$)",
    rf"{_ITEM}在?{_ZH_UPLOAD}{_SAME}{{0,12}}?{_ZH_THING}(?:之后|以后|后|时),? ?用户(?!可以|会|能|将|们|都)",
    rf"用户的{_ZH_THING}?{_ZH_UPLOAD}{_ZH_THING}?(?:包含|显示|内容|中|里|是|为|,|。|$)",
    rf"{_ZH_THING}的?{_ZH_UPLOAD}(?:已经?|被)?(?:完成|成功)",
    rf"(?:{_ZH_UPLOAD}|传|发送|发|分享|提交){_SAME}{{0,12}}?{_ZH_THING}{_SAME}{{0,4}}?(?:给|到|在)"
    r"(?:助手|本?次?对话|会话|聊天)",
    r"附件(?:中|里|内|为|是|包含|显示|提到|描述|的内容)|[见如](?:本)?附件|附[上加]了",
)
"""An upload, unless the sentence is about something that accepts uploads."""

MADE_FOR_IT = _any_of(
    r"\b(?:services?|apps?|applications?|websites?|platforms?|endpoints?|apis?|features?|forms?|widgets?)\b",
    r"\bcomponents?\b",
    r"\b(?:systems?|pipelines?|backend|frontend|servers?|bugs?|workflows?|tools?|plugins?|functions?|emails?|tests?)\b",
    r"\b(?:customers?|clients?|users|visitors|students|people|everyone|each|every|when|whenever|once|if|how)\b",
    r"\b(?:lets?|allow|enabl|support|build|built|develop|implement|handl|process|validat|maintain|resiz)",
    r"\b(?:scans?|scanning|stor(?:es?|ing))\b",
    r"功能|服务|系统|平台|应用|接口|组件|模块|网站|程序|\bapi\b|按钮|\bbug\b|邮件|客户|顾客|学生|多个用户|每个用户|所有用户",
    r"允许|支持|可以|让|开发|实现|处理|存储|校验|扫描|设计|构建|搭建|负责|当|如果|每当|每次|一旦",
)
"""Before the match: the sentence is about something that accepts uploads."""

IN_GENERAL = _any_of(
    r"\s?by (?:their |the |its )?(?:customers|users|clients|visitors|students|people|members|guests)\b",
    r"\s?(?:\w+ )?(?:is|are|gets?|must|should|can|will|needs?|may) (?:\w+ )?"
    r"(?:be|stored|scanned|saved|resized|validated|processed|compressed|encrypted|deleted|served|kept|cached|moved)\b",
    r"\s?(?:需要|必须|应该|会|都会|可以|大小|不能|要(?!求))(?:被|先)?",
)
"""Directly after the match: the sentence is a general rule."""

ELSEWHERE = _any_of(
    r"\b(?:to|on|onto|with) (?:(?:the|an?|his|her|their|my|our|its|several|some) )?(?:[\w-]+ )?(?:"
    r"youtube|instagram|tiktok|vimeo|soundcloud|spotify|facebook|twitter|linkedin|flickr|kaggle|github|gitlab|pypi|npm|"
    r"docker ?hub|hugging ?face|arxiv|s3|gcs|aws|azure|drive|dropbox|icloud|onedrive|sharepoint|confluence|notion|jira|"
    r"slack|cloud|bucket|servers?|repo|repository|website|site|blog|channel|registry|store|wiki|portal|intranet|"
    r"database|cluster|cdn|teams?|colleagues?|coworkers?|clients?|customers?|boss|manager|friends?|family|wife|husband|"
    r"investors?|students|class|community|journal|conference|workshop|neurips|icml|iclr|acl)\b",
    r"\b(?:every (?:day|week|month|morning|night)|daily|weekly|monthly|regularly)\b|每天|每周|每月",
    rf"(?:到|至|给|在){_SAME}{{0,6}}?(?:youtube|b ?站|哔哩|抖音|快手|小红书|微博|微信|朋友圈)",
    rf"(?:到|至|给|在){_SAME}{{0,6}}?(?:github|gitlab|gitee|pypi|npm)",
    rf"(?:到|至|给|在){_SAME}{{0,6}}?(?:s ?3|oss)",
    rf"(?:到|至|给|在){_SAME}{{0,6}}?(?:网盘|云|服务器|仓库|官网|网站|博客|频道|团队|同事|客户|朋友|老板|领导|老师|家人)",
)
"""Destinations of files that are not given to the assistant."""


MAX_SENTENCE_CHARS = 4_000
"""Characters of a sentence that are read; the longest fact has half as many."""


def mentions_upload(text: str) -> bool:
    """Return whether any sentence of *text* is about a file given to the assistant."""
    if text.isascii() and not any(word in text.lower() for word in _HINT_WORDS):
        return False  # as most facts: they need not even be folded
    return _has_hint(fold(text)) and any(_is_upload(sentence) for sentence in sentences(text))


def without_uploads(text: str) -> str:
    """Return *text* without lists of uploads and sentences that mention one; "" if nothing is left.

    A text without any is returned unchanged.
    """
    kept = "".join(sentence for sentence in sentences(without_blocks(text, UPLOADS)) if not _is_upload(sentence))
    return text if kept == text else kept.strip()


def _has_hint(folded: str) -> bool:
    return any(hint in folded for hint in HINTS)


@cache
def _compiled(source: str) -> re.Pattern[str]:
    """Compile one of the long patterns above, when a text has one of HINTS: most processes never need them."""
    return re.compile(source)


def _is_upload(sentence: str) -> bool:
    text = fold(sentence[:MAX_SENTENCE_CHARS])
    if not _has_hint(text):
        return False
    if _compiled(TRACES).search(text):
        return True
    if event := _compiled(EVENTS).search(text):
        return not _compiled(ELSEWHERE).search(text, event.start())
    return any(_is_event(text, likely) for likely in _compiled(LIKELY).finditer(text))


def _is_event(text: str, likely: re.Match[str]) -> bool:
    is_general = _compiled(MADE_FOR_IT).search(text, 0, likely.start()) or _compiled(IN_GENERAL).match(
        text, likely.end()
    )
    return not is_general and not _compiled(ELSEWHERE).search(text, likely.start())
