PRAGMA user_version = 3;
PRAGMA application_id = 1835496297;
BEGIN TRANSACTION;
CREATE TABLE data (
        sha256 TEXT PRIMARY KEY,
        bytes BLOB NOT NULL
    );
CREATE TABLE held (
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        sha256 TEXT NOT NULL REFERENCES data (sha256),
        PRIMARY KEY (item, sha256)
    ) WITHOUT ROWID;
CREATE TABLE item (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner INTEGER NOT NULL REFERENCES owner (id),
        digest TEXT,
        summary TEXT NOT NULL,
        terms TEXT NOT NULL,  -- of the summary, separated by spaces
        document TEXT NOT NULL
    );
INSERT INTO "item" VALUES(1,1,'2d5caeb18385fc9badf5d0d39063a5c4516d69e005a8a69a621ac998bd2c2bc9','Which database?
→ We chose PostgreSQL.','databas chose postgresql','{"content_summary": "Which database?\n\u2192 We chose PostgreSQL.", "metadata": {"node": "writer"}, "timestamp": "2026-11-27T00:00:00.000000Z", "input_snapshot": {"text": "Which database?", "blocks": [{"type": "text", "text": "Which database?"}], "attachments": []}, "output_snapshot": {"text": "We chose PostgreSQL.", "blocks": [{"type": "text", "text": "We chose PostgreSQL."}], "attachments": []}}');
CREATE TABLE model (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        probe BLOB NOT NULL
    );
CREATE TABLE models (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            probe BLOB NOT NULL         -- its vector of a fixed text, to recognise the model
        );
INSERT INTO "models" VALUES(1,'embedding_fakes.Letters',X'82745F3E0000000082745F3E82745F3E6297273F6297273F');
CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        items INTEGER NOT NULL
    );
INSERT INTO "owner" VALUES(1,'ada',1);
CREATE TABLE vector (
        item INTEGER NOT NULL REFERENCES item (id) ON DELETE CASCADE,
        model INTEGER NOT NULL REFERENCES model (id),
        numbers BLOB NOT NULL,
        PRIMARY KEY (item, model)
    );
CREATE TABLE vectors (
            digest BLOB NOT NULL,       -- of a text: equal texts are embedded once
            model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
            vector BLOB NOT NULL,       -- float32, normalized
            PRIMARY KEY (digest, model)
        ) WITHOUT ROWID
        ;
INSERT INTO "vectors" VALUES(X'B1ECEE26D7820F160FF573D0F689E1C2B41595DB0F7E6801ECF8B5701827C92F',1,X'F304353EB7C3073FF304353EF304B53EF304353EF304353F');
CREATE INDEX item_owner ON item (owner, id);
CREATE UNIQUE INDEX item_digest ON item (owner, digest) WHERE digest IS NOT NULL;
CREATE INDEX held_data ON held (sha256);
COMMIT;
