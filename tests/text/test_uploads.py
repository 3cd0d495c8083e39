"""What says that a file was uploaded."""

from __future__ import annotations

from functools import partial

import pytest
from cpu_time import growth
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


ENGLISH_FORMS = """
The user tested the assistant by uploading a test file
User started the session by uploading a CSV of sales
After uploading their resume, the user asked for feedback
User is uploading several documents
The user is currently uploading a large PDF
The user has been uploading several documents
User has been uploading photos of their garden
The user performed a file upload
User completed a file upload
The user did a test upload of a file
User made an upload of the report
User initiated a document upload
The user tested the file upload feature by uploading test.txt
A file upload was performed by the user
A file upload was performed
The upload of the report was completed
User mentioned uploading a spreadsheet
The user began uploading documents for analysis
User finished uploading the dataset
User tried uploading a screenshot
User re-uploaded the contract
The user was uploading an image of a receipt
Uploading a resume, the user asked for a review
User kept uploading screenshots of the error
User's upload of q3.pdf
The user's file upload contained sales data
Upload of report.pdf by the user
The user's uploads include a thesis and two papers
The user engaged in file uploading
User had been attaching logs to the conversation
By attaching a screenshot, the user showed the error
User is sharing a PDF with the assistant
User uploads documents and asks for summaries
User uploads files for analysis
The user has started to upload documents
The user wants to upload a PDF to the chat
Following the upload of a CSV, the user asked for a chart
Testing file uploads with a test file in this conversation
Conducted a test file upload
User attempted to upload a file
User tested file upload functionality by uploading a test file
The user was uploading screenshots of a bug
User has been attaching PDF invoices
Is uploading several documents
Has been uploading several documents
Performed a file upload
The user verified memory by uploading a test file
Started the chat by uploading a photo
User has performed multiple file uploads
User just completed a document upload for review
The user recently did another upload
User initiated an upload of a spreadsheet
The user was trying to upload a video
User shared files in the current conversation
The user sent a document to the assistant
User's upload included a budget
User began to upload a dataset
""".strip().splitlines()

CHINESE_FORMS = """
通过上传测试文件来测试功能
用户通过上传一个测试文件测试了助手
用户正在上传一份文件
用户在上传多个文档
用户一直在上传文档
用户进行了文件上传
用户执行了一次文件上传
用户完成了文件上传
用户进行了一次上传
用户上传一份CSV
用户上传文件并要求总结
用户正上传照片
文件上传已完成
用户的上传文件包含销售数据
用户尝试上传文件
用户开始上传文档
用户陆续上传了几份合同
用户做了一次文件上传测试
上传测试文件后，用户要求分析
用户在上传简历后询问建议
用户把报告上传给助手
用户将数据上传到对话中
用户多次上传截图
用户重新上传合同
用户的文件上传
用户反复上传同一张图片
用户发起了文件上传
用户正在传一份文件给助手
通过上传截图说明了错误
用户持续上传多份文档
用户通过上传图片提问
用户曾多次上传文档
用户正在重新上传合同
用户执行了文件上传操作
用户进行了多次文件上传
用户上传图片后要求描述
正在上传多份文档
用户分享文件给助手
用户将截图上传至对话
用户做过一次上传测试
用户上传测试文件，验证功能
用户的文件上传已经完成
""".strip().splitlines()

ENGLISH_WORK = """
Is building a file upload feature
Enjoys uploading videos to YouTube
Has been uploading videos to YouTube for years
Is uploading his album to Spotify
Spends weekends uploading photos to Flickr
Works on speeding up file uploads
Is testing file uploads in his React app
Performed a load test of the upload endpoint
Wrote a CLI for uploading files to S3
Maintains a library for uploading documents
Their app breaks when uploading large files
Prefers uploading files over pasting text
Automates uploading reports to SharePoint
Is working on a bug that occurs when users are uploading images
Runs a script by cron that is uploading logs to the server
Is responsible for file upload security at work
Completed the file upload module
Finished the upload endpoint
Tested the file upload feature of the app with Cypress
Implemented resumable file uploading
Is tired of uploading receipts to the company portal
Built a tool for attaching files to tickets
Designed the upload flow
Teaches students how to do a file upload in Flask
Wants to upload weekly podcasts
Plans to upload her novel to Amazon
Is interested in file upload security
Learned image uploading with Django
Earns money by uploading stock photos to Shutterstock
Makes a living by uploading videos
Is uploading his talks to YouTube
Is building a service for uploading documents
Likes attaching stickers to laptops
Performed surgery on a cat
Performed a stress test of file uploads
Finished the upload page of the shop
Started a company that handles document uploads
Is tired of attaching PDFs to emails
Tested the import by hand
User has been uploading videos to YouTube for years
User has been uploading photos since 2015
The user's upload service processes files
The user's upload endpoint is slow
User runs a site where people upload photos
Has been attaching great importance to tests
Attempted to climb Mont Blanc
Tries to upload a video to YouTube each week
Is migrating the upload service to Go
Completed an upload service for a client
Sends reports to the team every Friday
Learned that the app crashes after uploading a large file
The thumbnail service runs after uploading an image
Wants a button for uploading images in the chat app
""".strip().splitlines()

CHINESE_WORK = """
完成了文件上传模块
用户进行了上传接口的性能测试
用户正在优化文件上传
通过上传视频到B站赚钱
正在往YouTube上传视频
一直在B站上传视频
他的应用在上传大文件时会崩溃
正在实现断点续传上传
用户正在开发上传图片的组件
喜欢在朋友圈上传照片
用户做了文件上传功能的测试
写了一个上传文件到S3的脚本
用户正在修复上传文件的bug
负责文件上传的安全
团队在测试批量上传
教学生用Flask实现文件上传
用户开发了支持上传多个文档的系统
用户正在为客户开发上传大文件的服务
用户维护一个上传文档的平台
对图片上传感兴趣
用户在学习如何上传文件到服务器
通过上传短视频获得收入
用户完成了文件上传功能
计划每周上传一个播客
用户上传照片后会收到邮件
用户正在设计文件上传接口
用户正在测试他的上传服务
用户完成了上传服务的重构
用户用Python写批量上传脚本
用户正在上传视频到B站
用户将照片上传到网盘
将代码上传到GitHub
用户的上传服务很慢
用户的上传速度很快
用户传授绘画技巧给学生
喜欢把照片发到朋友圈
""".strip().splitlines()


@pytest.mark.parametrize("sentence", UPLOADS)
def test_an_upload_is_an_event(sentence: str) -> None:
    """The file is gone next session, so no fact may send the agent looking for it."""
    assert mentions_upload(sentence)


@pytest.mark.parametrize("sentence", NO_UPLOADS)
def test_work_with_files_is_no_upload(sentence: str) -> None:
    """Who builds an upload service wants that remembered."""
    assert not mentions_upload(sentence)


@pytest.mark.parametrize("sentence", [*ENGLISH_FORMS, *CHINESE_FORMS])
def test_participles_and_nouns_tell_of_an_upload_as_well(sentence: str) -> None:
    """A model writes "by uploading a test file" and "performed a file upload" as often as "uploaded"."""
    assert mentions_upload(sentence)


@pytest.mark.parametrize("sentence", [*ENGLISH_WORK, *CHINESE_WORK])
def test_participles_and_nouns_about_work_or_a_pastime_stay(sentence: str) -> None:
    """Building something that accepts uploads, or publishing videos, does not refer to a file of the conversation."""
    assert not mentions_upload(sentence)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Works at Acme. Uploaded report.v2.pdf. Likes tea.", "Works at Acme. Likes tea."),
        ("在上海工作。用户上传了report.v2.pdf。喜欢喝茶。", "在上海工作。喜欢喝茶。"),
        ("Likes tea. The user uploaded q3.pdf", "Likes tea."),
        ("Uploaded q3.pdf.", ""),
        ("Works at Acme. Tested the memory by uploading a test file. Likes tea.", "Works at Acme. Likes tea."),
        ("在上海工作。用户正在上传多份文档。喜欢喝茶。", "在上海工作。喜欢喝茶。"),
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


@pytest.mark.parametrize(
    "text",
    [
        "the user uploaded a ",
        "the user is uploading ",
        "by uploading a ",
        "用户正在",
        "通过上传",
        "upload of ",
        "uploaded ",
        "用户",
        "已上传",
        "file ",
        " ",
        "-",
        "a.b-",
    ],
)
def test_hostile_text_is_read_in_time(text: str) -> None:
    """A summary comes from a model, and models loop."""
    assert growth(lambda length: partial(without_uploads, text * (length // len(text))), 200_000) is None
