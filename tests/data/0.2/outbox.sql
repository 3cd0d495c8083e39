CREATE TABLE deletion (
        storage TEXT NOT NULL,
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, storage)
    );
CREATE TABLE "job" (
        id INTEGER PRIMARY KEY,
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        thread_id TEXT NOT NULL,
        aside INTEGER NOT NULL DEFAULT 0,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        retry_at REAL NOT NULL DEFAULT 0,
        due_at REAL NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        error TEXT NOT NULL DEFAULT '',
        storage TEXT NOT NULL DEFAULT '',
        UNIQUE (user_id, agent_name, thread_id, aside, storage)
    );
INSERT INTO "job" VALUES(1,'ada','','t2',0,1780000000.0,1780000000.0,9e999,9e999,0,'','sqlite:MEMORY');
INSERT INTO "job" VALUES(3,'wil','','t3',0,1780000000.0,1780000000.0,0.0,1780000000.0,0,'','sqlite:MEMORY');
CREATE TABLE "lease" (
        storage TEXT NOT NULL DEFAULT '',
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        holder TEXT NOT NULL UNIQUE,
        until REAL NOT NULL, since REAL NOT NULL DEFAULT 0,
        PRIMARY KEY (user_id, agent_name, storage)
    );
CREATE TABLE "review" (
        job_id INTEGER PRIMARY KEY REFERENCES "job" (id) ON DELETE CASCADE,
        id TEXT NOT NULL UNIQUE,
        at REAL NOT NULL,
        held TEXT NOT NULL,
        decision TEXT
    );
INSERT INTO "review" VALUES(1,'ab294a54d129ad931a8c0ac7c0dee70b',1780000000.0,'{"changes":{"at":"2026-06-24T00:17:23Z","thread":"t2","message_ids":["m3","m4"],"rewrites":[{"section":"work_context","summary":"I like pears and I work at a mill.","base":"","edited_by_user":false}],"additions":[{"id":"fact_7f94dd8b","content":"I like pears.","category":"preference","confidence":0.95,"source_error":null,"durable":true,"about_user":true,"replaces":[],"repeats":"","said_at":"2026-06-24T00:17:22Z","valid_from":"","valid_until":"","quote":"I like pears.","evidence":[{"episode":"e_f1f70f12ccb089104c07","quote":"I like pears"}],"slot":null,"edited_by_user":false},{"id":"fact_7a59ce53","content":"I moved to Porto.","category":"context","confidence":0.95,"source_error":null,"durable":true,"about_user":true,"replaces":["fact_3fc57c92"],"repeats":"","said_at":"2026-06-24T00:17:22Z","valid_from":"","valid_until":"","quote":"I moved to Porto.","evidence":[{"episode":"e_f1f70f12ccb089104c07","quote":"I moved to Porto"}],"slot":null,"edited_by_user":false}],"removals":[],"merges":[],"refused":[],"quarantined":[],"decisions":[],"asked":null},"proposal":{"type":"memory_review","user_id":"ada","agent_name":null,"thread_id":"t2","items":[{"key":"add:fact_7f94dd8b","kind":"add","before":"","after":"I like pears.","category":"preference","confidence":0.95,"source_error":null,"reason":null,"replaces":[]},{"key":"add:fact_7a59ce53","kind":"add","before":"","after":"I moved to Porto.","category":"context","confidence":0.95,"source_error":null,"reason":null,"replaces":[{"id":"fact_3fc57c92","content":"I live in Lisbon."}]},{"key":"rewrite:work_context","kind":"rewrite","before":"","after":"I like pears and I work at a mill.","category":null,"confidence":null,"source_error":null,"reason":null,"replaces":[]}],"evicted":[],"refused":[],"quarantined":[],"how":"Answer \"accept\" or \"reject\", or decide item by item: {\"items\": {KEY: \"accept\" | \"reject\" | {FIELDS}}}. FIELDS are the fields to change: after and, for a new fact, also category, confidence and source_error. Every item needs a verdict; {\"items\": {...}, \"others\": \"accept\" | \"reject\"} decides those that are not listed.","problem":null},"storage":"sqlite:MEMORY","deletion":""}',NULL);
CREATE TABLE "submission" (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES "job" (id) ON DELETE CASCADE,
        at REAL NOT NULL,
        messages TEXT NOT NULL
    , forgotten INTEGER NOT NULL DEFAULT 0);
INSERT INTO "submission" VALUES(1,1,1780000000.0,'[{"content":"I like pears. I moved to Porto. I work at a mill.","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"m3"},{"content":"Fine.","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"m4","tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null}]',0);
INSERT INTO "submission" VALUES(3,3,1780000000.0,'[{"content":"I like pears. I moved to Porto. I work at a mill.","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"m3"},{"content":"Fine.","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"m4","tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null}]',0);
CREATE INDEX job_due ON job (aside, due_at);
CREATE INDEX submission_job ON submission (job_id, at)
    ;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('submission',3);
PRAGMA user_version = 4;
