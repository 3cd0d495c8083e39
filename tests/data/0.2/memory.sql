CREATE TABLE episode (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        number INTEGER NOT NULL,  -- in the order in which they were appended
        id TEXT NOT NULL,
        written_at TEXT NOT NULL,  -- '' is unknown
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, number),
        UNIQUE (user_id, agent_name, id)
    );
INSERT INTO "episode" VALUES('ada','',1,'e_00dd9f57f4d75ac0dcc8','2026-06-24T00:17:21Z','{"id":"e_00dd9f57f4d75ac0dcc8","threadId":"t1","messageId":"m1","at":"2026-06-24T00:17:21Z","text":"I live in Lisbon."}');
INSERT INTO "episode" VALUES('ada','',2,'e_f1f70f12ccb089104c07','2026-06-24T00:17:22Z','{"id":"e_f1f70f12ccb089104c07","threadId":"t2","messageId":"m3","at":"2026-06-24T00:17:22Z","text":"I like pears. I moved to Porto. I work at a mill."}');
CREATE TABLE episode_log (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        appended INTEGER NOT NULL,  -- how many there ever were
        removals INTEGER NOT NULL,  -- how often some were removed
        total INTEGER NOT NULL,  -- how many there are
        PRIMARY KEY (user_id, agent_name)
    );
INSERT INTO "episode_log" VALUES('ada','',2,0,2);
CREATE TABLE memory (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,  -- '' is the memory that all agents share
        revision INTEGER NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    );
INSERT INTO "memory" VALUES('ada','',1,'{
  "version": "1.0",
  "revision": 1,
  "lastUpdated": "2026-06-24T00:17:21Z",
  "user": {
    "workContext": {
      "summary": "",
      "updatedAt": ""
    },
    "personalContext": {
      "summary": "",
      "updatedAt": ""
    },
    "topOfMind": {
      "summary": "",
      "updatedAt": ""
    }
  },
  "history": {
    "recentMonths": {
      "summary": "",
      "updatedAt": ""
    },
    "earlierContext": {
      "summary": "",
      "updatedAt": ""
    },
    "longTermBackground": {
      "summary": "",
      "updatedAt": ""
    }
  },
  "facts": [
    {
      "id": "fact_3fc57c92",
      "content": "I live in Lisbon.",
      "category": "context",
      "confidence": 0.95,
      "createdAt": "2026-06-24T00:17:21Z",
      "source": "t1",
      "saidAt": "2026-06-24T00:17:21Z",
      "evidence": [
        {
          "episode": "e_00dd9f57f4d75ac0dcc8",
          "quote": "I live in Lisbon"
        }
      ],
      "slot": "home"
    }
  ],
  "threads": {
    "t1": {
      "lastMessageId": "m2",
      "at": "2026-06-24T00:17:21Z",
      "messageIds": [
        "m1",
        "m2"
      ]
    }
  }
}
');
CREATE TABLE revision (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        revision INTEGER NOT NULL,
        written_at TEXT NOT NULL,
        document TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, revision)
    );
INSERT INTO "revision" VALUES('ada','',1,'2026-06-24T00:17:21Z','{"revision":1,"at":"2026-06-24T00:17:21Z","by":"update","thread":"t1","changes":{"facts":[{"key":"fact_3fc57c92","after":{"content":"I live in Lisbon.","confidence":0.95,"createdAt":"2026-06-24T00:17:21Z","source":"t1","saidAt":"2026-06-24T00:17:21Z","evidence":[{"episode":"e_00dd9f57f4d75ac0dcc8","quote":"I live in Lisbon"}],"slot":"home"}}],"threads":[{"key":"t1","after":{"lastMessageId":"m2","at":"2026-06-24T00:17:21Z"},"messageIds":{"added":["m1","m2"]}}]}}');
CREATE INDEX episode_by_age ON episode (user_id, agent_name, written_at, number);
CREATE INDEX revision_by_age ON revision (user_id, agent_name, written_at)
    ;
PRAGMA user_version = 3;
