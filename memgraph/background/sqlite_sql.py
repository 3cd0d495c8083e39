"""Tables and statements of the outbox on SQLite.

The column `aside` marks dead letters, `tries` counts failed attempts, `holder` is the id of a lease, `held` a proposal.
"""

# ruff: noqa: S608 - statements are assembled from constants of this module

from __future__ import annotations

from memgraph.background.schedule import CLOCK_TOLERANCE_SECONDS, MAX_DELAY_SECONDS

# '' is no agent or no thread: NULLs are never equal, so a unique index ignores them
_JOB_COLUMNS = """
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
        error TEXT NOT NULL DEFAULT ''
""".strip()
"""Those of two migrations, so they never change: a later migration adds its own."""

MIGRATIONS = (
    f"""
    CREATE TABLE job (
        {_JOB_COLUMNS},
        UNIQUE (user_id, agent_name, thread_id, aside)
    );
    CREATE INDEX job_due ON job (aside, due_at);
    CREATE TABLE submission (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
        at REAL NOT NULL,
        messages TEXT NOT NULL
    );
    CREATE INDEX submission_job ON submission (job_id, at);
    CREATE TABLE lease (
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        holder TEXT NOT NULL UNIQUE,
        until REAL NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE review (
        job_id INTEGER PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
        id TEXT NOT NULL UNIQUE,
        at REAL NOT NULL,
        held TEXT NOT NULL,
        decision TEXT
    )
    """,
    # SQLite cannot change a UNIQUE constraint. The children are copied before their parent is dropped, which would
    # delete their rows; a renamed table is renamed in REFERENCES and in sqlite_sequence, too.
    f"""
    CREATE TABLE new_job (
        {_JOB_COLUMNS},
        storage TEXT NOT NULL DEFAULT '',
        UNIQUE (user_id, agent_name, thread_id, aside, storage)
    );
    INSERT INTO new_job
        SELECT id, user_id, agent_name, thread_id, aside, first_at, last_at, retry_at, due_at, tries, error, ''
        FROM job;
    CREATE TABLE new_submission (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        job_id INTEGER NOT NULL REFERENCES new_job (id) ON DELETE CASCADE,
        at REAL NOT NULL,
        messages TEXT NOT NULL
    );
    INSERT INTO new_submission SELECT number, job_id, at, messages FROM submission;
    DELETE FROM sqlite_sequence WHERE name = 'new_submission';
    INSERT INTO sqlite_sequence (name, seq) SELECT 'new_submission', seq FROM sqlite_sequence WHERE name = 'submission';
    CREATE TABLE new_review (
        job_id INTEGER PRIMARY KEY REFERENCES new_job (id) ON DELETE CASCADE,
        id TEXT NOT NULL UNIQUE,
        at REAL NOT NULL,
        held TEXT NOT NULL,
        decision TEXT
    );
    INSERT INTO new_review SELECT job_id, id, at, held, decision FROM review;
    CREATE TABLE new_lease (
        storage TEXT NOT NULL DEFAULT '',
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        holder TEXT NOT NULL UNIQUE,
        until REAL NOT NULL,
        PRIMARY KEY (user_id, agent_name, storage)
    );
    INSERT INTO new_lease SELECT '', user_id, agent_name, holder, until FROM lease;
    DROP TABLE review;
    DROP TABLE submission;
    DROP TABLE lease;
    DROP TABLE job;
    ALTER TABLE new_job RENAME TO job;
    ALTER TABLE new_submission RENAME TO submission;
    ALTER TABLE new_review RENAME TO review;
    ALTER TABLE new_lease RENAME TO lease;
    CREATE INDEX job_due ON job (aside, due_at);
    CREATE INDEX submission_job ON submission (job_id, at)
    """,
    """
    ALTER TABLE submission ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE lease ADD COLUMN since REAL NOT NULL DEFAULT 0;
    CREATE TABLE deletion (
        storage TEXT NOT NULL,
        user_id TEXT NOT NULL,
        agent_name TEXT NOT NULL,
        at TEXT NOT NULL,
        PRIMARY KEY (user_id, agent_name, storage)
    )
    """,
)

_OF_KEY = "user_id = :user_id AND agent_name = :agent_name AND thread_id = :thread_id"
_IS_OURS = "(:storage IS NULL OR storage IN (:storage, ''))"  # see Outbox.storage
_MATCHES_SCOPE = f"""
    {_IS_OURS} AND (:user_id IS NULL OR (user_id = :user_id AND agent_name = :agent_name))
    AND (:thread_id IS NULL OR thread_id = :thread_id)
"""
_IS_HELD = f"until > :now AND since <= :now + {CLOCK_TOLERANCE_SECONDS}"
_UNDER_LEASE = f"""
    EXISTS (
        SELECT 1 FROM lease WHERE lease.user_id = job.user_id AND lease.agent_name = job.agent_name
        AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
    )
"""
_IS_SCHEDULED = "due_at < 9e999"  # 9e999 is infinity, see NEVER
_IS_IMPOSSIBLE = f"due_at > :now + {MAX_DELAY_SECONDS} AND {_IS_SCHEDULED}"
_CLAIMED = "(SELECT value FROM json_each(:numbers))"

# a job without a storage joins those of the first storage that submits to its conversation
SELECT_JOB = f"""
    SELECT id, first_at, due_at, retry_at FROM job WHERE {_OF_KEY} AND aside = 0 AND storage IN (:storage, '')
    ORDER BY storage DESC LIMIT 1
"""
COUNT_PENDING = f"""
    SELECT count(*), count(*) FILTER (WHERE user_id = :user_id)
    FROM job WHERE aside = 0 AND {_IS_SCHEDULED}
"""
INSERT_JOB = """
    INSERT INTO job (user_id, agent_name, thread_id, storage, aside, first_at, last_at, due_at)
    VALUES (:user_id, :agent_name, :thread_id, :storage, :aside, :at, :at, :due)
"""
UPDATE_DUE = "UPDATE job SET last_at = :at, due_at = :due, storage = :storage WHERE id = :id"
INSERT_SUBMISSION = "INSERT INTO submission (job_id, at, messages) VALUES (:id, :at, :messages)"

SELECT_DUE, SELECT_IMPOSSIBLE = (
    f"""
    SELECT id, user_id, agent_name, thread_id, tries, storage FROM job
    WHERE aside = 0 AND {is_due} AND {_MATCHES_SCOPE} AND NOT {_UNDER_LEASE}
    ORDER BY due_at, id LIMIT 1
    """
    for is_due in ("due_at <= :now", _IS_IMPOSSIBLE)
)
TAKE_LEASE = """
    INSERT INTO lease (user_id, agent_name, storage, holder, since, until)
    VALUES (:user_id, :agent_name, :storage, :holder, :now, :until)
    ON CONFLICT (user_id, agent_name, storage)
    DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until
"""
# fails silently if the storage has a job of its own in that conversation: then the old one stays without a name
ADOPT_JOB = "UPDATE OR IGNORE job SET storage = :storage WHERE id = :id"
SELECT_SUBMISSIONS = "SELECT number, at, messages, forgotten FROM submission WHERE job_id = ? ORDER BY number"
RENEW_LEASE = "UPDATE lease SET since = :now, until = :until WHERE holder = :holder"
END_LEASE = "DELETE FROM lease WHERE holder = ?"

SELECT_LEASE = "SELECT 1 FROM lease WHERE holder = ?"
# forgotten only if all of them are, since those that are not were merged
REPLACE_SUBMISSION = f"""
    UPDATE submission SET at = :at, messages = :messages,
        forgotten = (SELECT min(forgotten) FROM submission WHERE job_id = :id AND number IN {_CLAIMED})
    WHERE job_id = :id AND number = :number
"""

DELETE_COMPLETED = f"""
    DELETE FROM job WHERE id = :id
    AND NOT EXISTS (SELECT 1 FROM submission WHERE job_id = :id AND number NOT IN {_CLAIMED})
"""
DELETE_CLAIMED = f"DELETE FROM submission WHERE job_id = :id AND number IN {_CLAIMED}"
MOVE_CLAIMED = f"UPDATE submission SET job_id = :dead_letter_id WHERE job_id = :id AND number IN {_CLAIMED}"
MOVE_SUBMISSIONS = "UPDATE submission SET job_id = :to WHERE job_id = :id"
SELECT_SPAN = "SELECT min(at), max(at) FROM submission WHERE job_id = ?"
DELETE_JOB = "DELETE FROM job WHERE id = ?"
RESET_JOB = """
    UPDATE job SET first_at = :first, last_at = :last, due_at = :due, retry_at = 0, tries = 0, error = ''
    WHERE id = :id
"""
UPDATE_SPAN = "UPDATE job SET first_at = :first, last_at = :last WHERE id = :id"
MARK_FAILED = "UPDATE job SET tries = tries + 1, error = :error, retry_at = :at, due_at = :at WHERE id = :id"
UPDATE_DEAD_LETTER = """
    UPDATE job SET first_at = :first, last_at = :last, tries = :tries, error = :error WHERE id = :id
"""
SELECT_DEAD_LETTERS = (
    f"SELECT id, user_id, agent_name, thread_id, storage FROM job WHERE aside = 1 AND {_MATCHES_SCOPE} ORDER BY id"
)
SELECT_DEAD_LETTER = f"SELECT id FROM job WHERE {_OF_KEY} AND aside = 1 AND storage = :storage"

NEXT_UNLEASED = f"""
    SELECT due_at FROM job WHERE aside = 0 AND {_IS_OURS} AND NOT {_UNDER_LEASE} ORDER BY due_at LIMIT 1
"""
NEXT_LEASE_END = f"""
    SELECT min(max(due_at, until)) FROM lease JOIN job USING (user_id, agent_name)
    WHERE aside = 0 AND (:storage IS NULL OR job.storage IN (:storage, ''))
    AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
"""
# if the clock has gone back
HAS_IMPOSSIBLE = f"""
    SELECT :now FROM job WHERE aside = 0 AND {_IS_IMPOSSIBLE} AND {_IS_OURS} AND NOT {_UNDER_LEASE} LIMIT 1
"""
EXPEDITE = f"UPDATE job SET due_at = :now WHERE aside = 0 AND due_at > :now AND {_IS_SCHEDULED} AND {_MATCHES_SCOPE}"
LIST_JOBS = f"""
    SELECT job.id, user_id, agent_name, thread_id, count(*), min(number), max(number), first_at, last_at,
        due_at, tries, error, aside = 0 AND {_UNDER_LEASE}, storage
    FROM job JOIN submission ON job_id = job.id
    WHERE aside = :aside AND {_IS_SCHEDULED} AND {_IS_OURS} GROUP BY job.id ORDER BY due_at, job.id
"""

FORGET_SUBMISSIONS = f"""
    UPDATE submission SET forgotten = 1 WHERE job_id IN (SELECT id FROM job WHERE {_MATCHES_SCOPE})
"""
SELECT_LAST_FORGOTTEN = f"""
    SELECT max(number) FROM submission JOIN job ON job.id = job_id WHERE {_MATCHES_SCOPE}
"""
INSERT_DELETION = """
    INSERT INTO deletion (storage, user_id, agent_name, at) VALUES (coalesce(:storage, ''), :user_id, :agent_name, :at)
    ON CONFLICT (user_id, agent_name, storage) DO UPDATE SET at = excluded.at
"""
INSERT_FOUND_DELETION = f"""
    INSERT INTO deletion (storage, user_id, agent_name, at)
    SELECT coalesce(:storage, ''), :user_id, :agent_name, :at
    WHERE 0 = (SELECT count(*) FROM job WHERE {_MATCHES_SCOPE})
    ON CONFLICT (user_id, agent_name, storage) DO UPDATE SET at = excluded.at
"""
SELECT_DELETION = """
    SELECT at FROM deletion WHERE user_id = :user_id AND agent_name = :agent_name AND storage = :storage
"""

_IS_USERS = f"user_id = :user_id AND {_IS_OURS}"
SELECT_USER_MESSAGES = f"""
    SELECT messages FROM submission JOIN job ON job.id = job_id WHERE {_IS_USERS} ORDER BY number
"""
SELECT_USER_REVIEWS = f"SELECT held FROM review JOIN job ON job.id = job_id WHERE {_IS_USERS} ORDER BY review.at"
DELETE_USER_JOBS = f"DELETE FROM job WHERE {_IS_USERS}"
DELETE_USER_LEASES = f"DELETE FROM lease WHERE {_IS_USERS}"

INSERT_REVIEW = """
    INSERT INTO review (job_id, id, at, held) VALUES (:job_id, :id, :at, :held)
    ON CONFLICT (job_id) DO UPDATE SET id = excluded.id, at = excluded.at, held = excluded.held, decision = NULL
"""
MARK_IN_REVIEW = "UPDATE job SET due_at = 9e999, retry_at = 9e999, tries = 0, error = '' WHERE id = :job_id"
UPDATE_DECISION = "UPDATE review SET decision = :decision WHERE id = :id AND decision IS NULL"
MARK_DECIDED = "UPDATE job SET due_at = :now, retry_at = 0 WHERE id = (SELECT job_id FROM review WHERE id = :id)"
SELECT_DECISION = "SELECT at, held, decision FROM review WHERE job_id = ? AND decision IS NOT NULL"
LIST_IN_REVIEW = f"""
    SELECT job.id, user_id, agent_name, thread_id, count(*), min(number), max(number), first_at, last_at,
        due_at, tries, error, 0, storage, review.id, review.at, held
    FROM job JOIN submission ON submission.job_id = job.id JOIN review ON review.job_id = job.id
    WHERE decision IS NULL AND {_IS_OURS} GROUP BY job.id ORDER BY review.at, job.id
"""
CANCEL_REVIEWS = f"UPDATE job SET due_at = :now, retry_at = 0 WHERE aside = 0 AND due_at = 9e999 AND {_MATCHES_SCOPE}"
DELETE_CANCELLED = """
    DELETE FROM review WHERE decision IS NULL AND job_id IN (SELECT id FROM job WHERE due_at < 9e999)
"""
DELETE_REVIEW = "DELETE FROM review WHERE job_id = ?"
MOVE_REVIEW = "UPDATE OR IGNORE review SET job_id = :to WHERE job_id = :id"
