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
  "lastUpdated": "2026-06-24T00:09:17Z",
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
      "id": "fact_b43ecaaa",
      "content": "I live in Lisbon.",
      "category": "context",
      "confidence": 0.95,
      "createdAt": "2026-06-24T00:09:17Z",
      "source": "t1"
    }
  ],
  "threads": {
    "t1": {
      "lastMessageId": "m2",
      "at": "2026-06-24T00:09:17Z",
      "messageIds": [
        "m1",
        "m2"
      ]
    }
  }
}
');
PRAGMA user_version = 1;
