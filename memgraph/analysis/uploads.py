"""Detect mentions of uploaded files: a memory must not refer an agent to a file that no longer exists.

A sentence tells of an upload if it has a word for it and one for a file, and none for work on something that accepts
uploads, for others who upload, or for another destination.
"""

from __future__ import annotations

import re

from memgraph.analysis.message import UPLOADS, without_blocks
from memgraph.analysis.normalize import fold
from memgraph.analysis.sentences import sentences

MAX_SENTENCE_CHARS = 4_000
"""Characters of a sentence that are read; the longest fact has half as many."""


def _any_of(words: str) -> str:
    return "|".join(words.split())


_FILES = _any_of("""
    file document doc pdf spreadsheet sheet csv tsv image photo picture screenshot video audio recording attachment
    report slide deck presentation workbook dataset archive zip log resume cv transcript contract invoice docx xlsx
    notebook diagram scan paper thesis data
""")
_CHINESE_FILES = _any_of("""
    文件 檔案 档案 文档 报告 報告 图片 照片 表格 附件 截图 视频 录音 资料 数据 简历 合同 论文 压缩包 财报
""")
_FILE = rf"(?:\b(?:{_FILES})s?\b|(?<![\w()-])[\w()-]{{1,60}}(?:\.\w{{1,30}}){{0,3}}\.[a-z]\w{{1,4}}\b|{_CHINESE_FILES})"
_HAS_FILE = re.compile(_FILE)
_UPLOADED = re.compile(r"\b(?:re-?)?(?:upload(?:ed|ing|s)?|attach(?:ed|ing|es|ments?)?)\b|上[传傳载]|附[上加件]")
_GIVEN = re.compile(
    rf"\b(?:shared|sharing|sent|sending|provided|submitted|supplied)(?: [\w'\"-]{{1,30}}){{0,5}}? {_FILE}"
    rf"|(?:分享|提供|发送|提交|发来|传|发)了?[^,。;!?]{{0,12}}{_FILE}"
)
_TRACE = re.compile(r"/?mnt/user-data/uploads|user-data/uploads/|</?(?:uploaded_files|current_uploads)\b")
"""What only an upload leaves in a text: its path, its tag."""
_ELSEWHERE = re.compile(
    r"\b(?:"
    + _any_of(r"""
    servic apps?\b application websites?\b site\b platform endpoint apis?\b features?\b(?!.by.upload) form\b widget
    component system pipeline backend frontend server bugs?\b workflow tool plugin functions?\b e-?mails?\b modul
    scripts?\b librar flow\b page\b button portal shop code\b cli\b product limit speed slow security
    scan(?:s|ned|ning)\b customers?\b clients?\b users\b visitors?\b students?\b people everyone team colleague friend
    famil investor each\b every\b daily weekly monthly when(?:ever)?\b years since.\d lets?\b allow enabl support build
    built develop implement process validat maintain resiz automat migrat design handl works?\b learn earn
    mak(?:es|ing).a.living enjoy likes?\b prefer tired interest plans?\b youtube instagram tiktok vimeo soundcloud
    spotify facebook twitter linkedin flickr kaggle github gitlab pypi s3\b drive\b dropbox sharepoint cloud bucket
    repo\b blog channel store\b wiki amazon arxiv neurips shutterstock
    """)
    + ")|"
    + _any_of(r"""
    功能 服务 系统 平台 应用 接口 组件 模块 网站 程序 按钮 邮件 客户 顾客 学生 多个用户 每个用户 团队 开发
    允许 支持 实现 处理 负责 设计 优化 维护 学习 喜欢 感兴趣 计划 希望 速度 带宽 限 很慢 更快 进度 当用户
    每[天周月] 脚本 教 赚 收入 b.?站 网盘 朋友圈 抖音 审核 扫描 了解 仓库 博客 频道
    """)
)
_CONTENT = re.compile(r"\b(?:about|and|asked|asks|contain|describ\w*|of a)\b|关于|描述|包含")
"""What follows is about the file, or something else."""


def mentions_upload(text: str) -> bool:
    """Return whether any sentence of *text* is about a file given to the assistant."""
    return any(map(_is_upload, sentences(text)))


def without_uploads(text: str) -> str:
    """Return *text* without lists of uploads and sentences that mention one; "" if nothing is left.

    A text without any is returned unchanged.
    """
    kept = "".join(sentence for sentence in sentences(without_blocks(text, UPLOADS)) if not _is_upload(sentence))
    return text if kept == text else kept.strip()


def _is_upload(sentence: str) -> bool:
    text = fold(sentence[:MAX_SENTENCE_CHARS])
    if _TRACE.search(text):
        return True
    told = _UPLOADED.search(text)
    if not (told and _HAS_FILE.search(text)) and not (told := _GIVEN.search(text)):
        return False
    about = _CONTENT.search(text, told.end())
    return not _ELSEWHERE.search(text, 0, about.start() if about else len(text))
