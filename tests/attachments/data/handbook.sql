PRAGMA user_version = 1;
PRAGMA application_id = 1835492969;
BEGIN TRANSACTION;
CREATE TABLE chunks (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL REFERENCES files ON DELETE CASCADE,
        place INTEGER NOT NULL,
        start INTEGER NOT NULL,
        text TEXT NOT NULL,
        digest BLOB NOT NULL
    );
INSERT INTO "chunks" VALUES(1,1,0,0,'The train to Oslo leaves at nine.',X'4CABF9FE0C79271E0BA186BA90E733FCCF503847246B1731C2CAAB8F0918B80A');
CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        path TEXT NOT NULL UNIQUE,
        source TEXT NOT NULL,
        name TEXT NOT NULL,         -- below the source
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,  -- nanoseconds since 1970
        digest TEXT NOT NULL,
        way TEXT NOT NULL,          -- how it was read and split
        problem TEXT NOT NULL       -- why it cannot be read
    );
INSERT INTO "files" VALUES(1,'FOLDER/docs/trips.md','FOLDER/docs','trips.md',34,1700000000000000000,'b52ef42c67b6920797be15477336acd026d72b74e03178c7b818d4b67da753ec','500/50/utf-8','');
CREATE TABLE models (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            probe BLOB NOT NULL         -- its vector of a fixed text, to recognise the model
        );
INSERT INTO "models" VALUES(1,'embedding_fakes.Letters',X'82745F3E0000000082745F3E82745F3E6297273F6297273F');
CREATE TABLE vectors (
            digest BLOB NOT NULL,       -- of a text: equal texts are embedded once
            model INTEGER NOT NULL REFERENCES models ON DELETE CASCADE,
            vector BLOB NOT NULL,       -- float32, normalized
            PRIMARY KEY (digest, model)
        ) WITHOUT ROWID
        ;
INSERT INTO "vectors" VALUES(X'4CABF9FE0C79271E0BA186BA90E733FCCF503847246B1731C2CAAB8F0918B80A',1,X'ABD2483E009E163F000000000000000000000000ABD2483F');
CREATE INDEX chunks_of_file ON chunks (file);
CREATE INDEX chunks_by_digest ON chunks (digest)
;
COMMIT;
