CREATE TABLE job (
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
        UNIQUE (user_id, agent_name, thread_id, aside)
    );
INSERT INTO "job" VALUES(1,'ada','','t2',0,1780000000.0,1780000000.0,9e999,9e999,0,'');
INSERT INTO "job" VALUES(3,'wil','','t3',0,1780000000.0,1780000000.0,0.0,1780000000.0,0,'');
CREATE TABLE lease (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        holder TEXT NOT NULL UNIQUE,
        until REAL NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    );
CREATE TABLE review (
        job_id INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
        id TEXT NOT NULL UNIQUE,
        at REAL NOT NULL,
        held TEXT NOT NULL,
        decision TEXT
    );
INSERT INTO "review" VALUES(1,'8363f1a371b9262672b70b531ddd593f',1780000000.0,'{"changes":{"at":"2026-06-24T00:09:19Z","thread":"t2","message_ids":["m3","m4"],"rewrites":[{"section":"work_context","summary":"I like pears and I work at a mill.","base":"","by_hand":false}],"additions":[{"id":"fact_e8bed8de","content":"I like pears.","category":"preference","confidence":0.95,"source_error":null,"durable":true,"about_user":true,"replaces":[],"by_hand":false},{"id":"fact_394fa0d0","content":"I moved to Porto.","category":"context","confidence":0.95,"source_error":null,"durable":true,"about_user":true,"replaces":["fact_b43ecaaa"],"by_hand":false}],"removals":[],"refused":[]},"proposal":{"type":"memory_review","user_id":"ada","agent_name":null,"thread_id":"t2","items":[{"key":"add:fact_e8bed8de","kind":"add","before":"","after":"I like pears.","category":"preference","confidence":0.95,"source_error":null,"reason":null,"replaces":[]},{"key":"add:fact_394fa0d0","kind":"add","before":"","after":"I moved to Porto.","category":"context","confidence":0.95,"source_error":null,"reason":null,"replaces":[{"id":"fact_b43ecaaa","content":"I live in Lisbon."}]},{"key":"rewrite:work_context","kind":"rewrite","before":"","after":"I like pears and I work at a mill.","category":null,"confidence":null,"source_error":null,"reason":null,"replaces":[]}],"evicted":[],"refused":[],"how":"Answer \"accept\" or \"reject\", or decide item by item: {\"items\": {KEY: \"accept\" | \"reject\" | {FIELDS}}}. FIELDS are those of the item to change: after, and of a fact to add also category, confidence and source_error. Every item needs its verdict; say {\"items\": {...}, \"others\": \"accept\" | \"reject\"} for those that are not named.","problem":null},"storage":"sqlite:MEMORY"}',NULL);
CREATE TABLE submission (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
        at REAL NOT NULL,
        messages TEXT NOT NULL
    );
INSERT INTO "submission" VALUES(1,1,1780000000.0,'[{"content":"I like pears. I moved to Porto. I work at a mill.","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"m3"},{"content":"Fine.","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"m4","tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null}]');
INSERT INTO "submission" VALUES(3,3,1780000000.0,'[{"content":"I like pears. I moved to Porto. I work at a mill.","additional_kwargs":{},"response_metadata":{},"type":"human","name":null,"id":"m3"},{"content":"Fine.","additional_kwargs":{},"response_metadata":{},"type":"ai","name":null,"id":"m4","tool_calls":[],"invalid_tool_calls":[],"usage_metadata":null}]');
CREATE INDEX job_due ON job (aside, due_at);
CREATE INDEX submission_job ON submission (job_id, at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('submission',3);
PRAGMA user_version = 2;
