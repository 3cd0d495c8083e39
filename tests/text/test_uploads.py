"""What says that a file was uploaded."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memgraph.text.uploads import mentions_upload, without_uploads

UPLOADS = """
Uploaded q3.pdf.
The user uploaded a spreadsheet with sales data
User has shared a file named x
用户上传了一份报告
Attached a CSV for analysis
An uploaded document describes a payment system and its API.
file was uploaded
A file was uploaded
User uploaded report.v2.pdf for review.
The user has recently uploaded two images.
I uploaded my resume.
She attached a screenshot of the error.
User provided a PDF about marine biology.
The file q3.pdf was uploaded by the user.
Files are located in /mnt/user-data/uploads/q3.pdf
See /mnt/user-data/uploads/
The uploaded spreadsheet shows revenue of 3M.
The attached file contains the spec.
Based on the uploaded report, revenue grew.
User sent an image of a cat.
User attached three photos to the conversation.
Recently uploaded sales_2024.xlsx and asked for a chart.
- Uploaded a thesis draft
The attachment contains meeting notes.
User's uploaded data.csv has 300 rows.
User has uploaded a file called "notes.txt".
<uploaded_files> q3.pdf </uploaded_files>
The user uploads a PDF containing the contract.
Report.pdf has been uploaded for summarization.
用户上傳了一份報告
用户上载了文件
用户已上传 q3.pdf
用户刚刚上传了两张照片。
上传了一份简历。
用户分享了一份PDF文件
附件中包含财务数据
用户上传的文件描述了一个支付系统
我上传了report.v2.pdf
该文件已上传
用户提供了一份名为 data.csv 的文件
用户上传了一份关于系统架构的报告
上传了q3.pdf
用户附上了一张截图
路径为 /mnt/user-data/uploads/数据.csv
他昨天上传了一个Excel表格
使用者上傳了檔案
User uploaded a Word document and prefers short summaries
Ada uploaded a report about bees.
User is uploading a CSV
The user uploaded the quarterly report and asked for key figures
Uploads: budget.xlsx
User uploaded a photo of their whiteboard.
In a recent session the user uploaded a dataset of 10k tweets
User provided their resume as an attachment
User attached error.log
The user has attached a contract for review
Recently shared a PDF with the assistant
A PDF titled 'Foo' was uploaded on June 1
Asked questions about an uploaded PDF
Discussed the attached spreadsheet
User wants a summary of the uploaded document
User was analysing the uploaded sales.csv
File path: /mnt/user-data/uploads/report.pdf
He shared a screenshot of the dashboard
User sent several images for editing
User submitted a CSV file containing orders
用户上传了Q3财报并要求总结
用户上传过一个名为data.csv的文件
用户最近上传了一张产品图片
用户提交了一份合同请求审阅
根据用户上传的PDF，公司成立于2010年
用户发送了一张截图
讨论了上传的数据集文件
上传文件：report.pdf
最近上传了销售数据
用户在本次会话中上传了一个压缩包
""".strip().splitlines()

NO_UPLOADS = """
Builds a service that lets customers upload large files
Prefers PDF to Word
正在开发文件上传功能
Prefers PDF to Word.
Is building a file upload feature in FastAPI.
Validates uploaded files with libmagic.
Works on an image upload endpoint.
Wants users to be able to upload photos.
Maintains an app where uploaded images are resized.
Uploads videos to YouTube every week.
User uploaded 3 videos to YouTube last month.
Published his first package to PyPI.
Is attached to remote work.
Attached great importance to tests.
Shared that they like hiking.
User shared a document with the team.
User shared a Google Doc template with colleagues.
User sent a report to the client.
Works with PDF files every day.
Knows how to parse CSV files.
Upload speed at home is 20 Mbit/s.
The upload is slow on her network.
Uses S3 for file uploads.
Debugs multipart uploads.
Prefers attachments in email over links.
Provided feedback on the draft design.
Files uploaded by customers are stored in S3.
Fixed a bug where a file was uploaded twice.
The uploaded files are scanned by his backend.
User prefers drag and drop for file uploads.
Uploaded files must be under 10 MB in his product.
User deployed report.v2 to production
Uploaded the first release to PyPI.
开发了一个让客户上传大文件的服务
喜欢 PDF 多于 Word
负责文件上传模块的开发
他的网站允许用户上传图片
用户上传功能由他维护
希望支持批量上传
上传速度很慢
家里的上传带宽是20M
正在优化上传接口的性能
处理客户上传的文件
把视频上传到B站
用户每周上传视频到YouTube
邮件附件大小限制为 25MB
用户向团队分享了一份文档
了解了文件格式
实现了上传进度条
喜欢用 Markdown 写文档
系统会扫描用户上传的文件
当用户上传了文件后系统会发邮件
完成了三份报告
Works on a photo-sharing app with uploads
Uses Dropbox to share files with clients
Prefers to upload to staging before production
Wants to learn how to attach a debugger
Attached to Berlin and plans to stay
Provided mentoring to two juniors
Shared a flat with two colleagues in Oslo
Sent 50 job applications in May
Wrote a script that uploads backups to S3 nightly
Implemented file attachments in the ticket system
Uploads are limited to 5 MB in the product
Deals with large CSV files at work
Data engineer at Acme, works with uploaded logs from devices
Manages a team that reviews uploaded documents for KYC
Submitted a paper to NeurIPS
Shared a conference room with the design team
Presented a report on climate to the board
Provided a quote for the kitchen
Learned to play the guitar with uploaded video lessons
User shared their birthday
User provided an address in Oslo
User sent a pull request
User has submitted three papers to arXiv
User shared a recipe
用户喜欢上传照片到Instagram
用户负责上传模块
在做一个文件分享网站
开发了附件预览功能
用户提供了三个例子
用户分享了一个好消息
用户提交了两个 PR
她的工作是审核用户上传的内容
他提出了上传限速方案
用户发了一篇论文
每天上传一个视频到抖音
希望上传更快
团队使用 OSS 存储上传文件
""".strip().splitlines()


@pytest.mark.parametrize("sentence", UPLOADS)
def test_an_upload_is_an_event(sentence: str) -> None:
    """The file is gone next session, so no fact may send the agent looking for it."""
    assert mentions_upload(sentence)


@pytest.mark.parametrize("sentence", NO_UPLOADS)
def test_work_with_files_is_no_upload(sentence: str) -> None:
    """Who builds an upload service wants that remembered."""
    assert not mentions_upload(sentence)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Works at Acme. Uploaded report.v2.pdf. Likes tea.", "Works at Acme. Likes tea."),
        ("在上海工作。用户上传了report.v2.pdf。喜欢喝茶。", "在上海工作。喜欢喝茶。"),
        ("Likes tea. The user uploaded q3.pdf", "Likes tea."),
        ("Uploaded q3.pdf.", ""),
        ("Likes tea.\n<uploaded_files>\nq3.pdf\n</uploaded_files>\nWorks at Acme.", "Likes tea.\n\nWorks at Acme."),
        ("Dr. Smith of the U.S. office likes tea. User attached a CSV.", "Dr. Smith of the U.S. office likes tea."),
    ],
)
def test_a_summary_loses_the_sentence(text: str, left: str) -> None:
    """The rest of it is still true."""
    assert without_uploads(text) == left


@given(st.text(alphabet="abc. \n我。", max_size=60))
def test_a_text_without_uploads_stays_as_it_is(text: str) -> None:
    """To its last blank: what is not about uploads is none of our business."""
    assert without_uploads(text) == text


@pytest.mark.parametrize("text", ["the user uploaded a ", "uploaded ", "用户", "已上传", "file ", " ", "-", "a.b-"])
def test_hostile_text_is_read_in_time(text: str) -> None:
    """A summary comes from a model, and models loop."""
    started = time.process_time()

    without_uploads(text * (200_000 // len(text)))

    assert time.process_time() - started < 1
