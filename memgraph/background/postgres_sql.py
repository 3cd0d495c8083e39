"""Tables and statements of the outbox on PostgreSQL.

Transactions lock rows in one order, so that they cannot deadlock: pending job, dead letter, lease, review.
The column `aside` marks dead letters, `tries` counts failed attempts, `holder` is the id of a lease, `held` a proposal.
"""

# ruff: noqa: S608 - statements are assembled from constants of this module

from __future__ import annotations

# '' is no agent or no thread: NULLs are never equal, so a unique index ignores them
MIGRATIONS = (
    """
    CREATE TABLE memgraph_job (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        thread_id text COLLATE "C" NOT NULL,
        aside boolean NOT NULL,
        first_at double precision NOT NULL,
        last_at double precision NOT NULL,
        retry_at double precision NOT NULL DEFAULT 0,
        due_at double precision NOT NULL,
        tries integer NOT NULL DEFAULT 0,
        error text NOT NULL DEFAULT '',
        UNIQUE (user_id, agent_name, thread_id, aside)
    )
    """,
    "CREATE INDEX memgraph_job_due ON memgraph_job (aside, due_at)",
    """
    CREATE TABLE memgraph_submission (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        job_id bigint NOT NULL REFERENCES memgraph_job (id),
        at double precision NOT NULL,
        messages text NOT NULL
    )
    """,
    "CREATE INDEX memgraph_submission_job ON memgraph_submission (job_id, number)",
    """
    CREATE TABLE memgraph_lease (
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        holder text NOT NULL UNIQUE,
        until double precision NOT NULL,
        PRIMARY KEY (user_id, agent_name)
    )
    """,
    """
    CREATE TABLE memgraph_review (
        job_id bigint PRIMARY KEY REFERENCES memgraph_job (id) ON DELETE CASCADE,
        id text COLLATE "C" NOT NULL UNIQUE,
        at double precision NOT NULL,
        held text NOT NULL,
        decision text
    )
    """,
    """
    ALTER TABLE memgraph_job
        ADD COLUMN storage text COLLATE "C" NOT NULL DEFAULT '',
        DROP CONSTRAINT memgraph_job_user_id_agent_name_thread_id_aside_key,
        ADD UNIQUE (user_id, agent_name, thread_id, aside, storage)
    """,
    """
    ALTER TABLE memgraph_lease
        ADD COLUMN storage text COLLATE "C" NOT NULL DEFAULT '',
        DROP CONSTRAINT memgraph_lease_pkey,
        ADD PRIMARY KEY (user_id, agent_name, storage)
    """,
    "ALTER TABLE memgraph_submission ADD COLUMN forgotten boolean NOT NULL DEFAULT FALSE",
    "ALTER TABLE memgraph_lease ADD COLUMN since double precision NOT NULL DEFAULT 0",
    """
    CREATE TABLE memgraph_deletion (
        storage text COLLATE "C" NOT NULL,
        user_id text COLLATE "C" NOT NULL,
        agent_name text COLLATE "C" NOT NULL,
        at text NOT NULL,
        PRIMARY KEY (user_id, agent_name, storage)
    )
    """,
)

_OF_KEY = "user_id = %(user_id)s AND agent_name = %(agent_name)s AND thread_id = %(thread_id)s"
_IS_OURS = "(%(storage)s::text IS NULL OR storage IN (%(storage)s, ''))"  # see Outbox.storage
_MATCHES_SCOPE = f"""
    {_IS_OURS} AND (%(user_id)s::text IS NULL OR (user_id = %(user_id)s AND agent_name = %(agent_name)s))
    AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
"""
_IS_SCHEDULED = "due_at < 'Infinity'"  # see NEVER
# the numbers are CLOCK_TOLERANCE_SECONDS and MAX_DELAY_SECONDS; psycopg takes literals only
_IS_HELD = "until > %(now)s AND since <= %(now)s + 5"
_IS_IMPOSSIBLE = f"due_at > %(now)s + 3605 AND {_IS_SCHEDULED}"  # if the clock has gone back
_UNDER_LEASE = f"""
    EXISTS (
        SELECT FROM memgraph_lease AS lease
        WHERE lease.user_id = job.user_id AND lease.agent_name = job.agent_name
        AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
    )
"""

# -- users --

_IS_USERS = f"user_id = %(user_id)s AND {_IS_OURS}"
LOCK_USER_JOBS = f"SELECT id FROM memgraph_job WHERE {_IS_USERS} ORDER BY aside, id FOR UPDATE"
SELECT_USER_MESSAGES = f"""
    SELECT messages FROM memgraph_submission JOIN memgraph_job AS job ON job.id = job_id WHERE {_IS_USERS}
    ORDER BY number
"""
SELECT_USER_REVIEWS = f"""
    SELECT held FROM memgraph_review AS review JOIN memgraph_job AS job ON job.id = job_id WHERE {_IS_USERS}
    ORDER BY review.at
"""
DELETE_SUBMISSIONS = "DELETE FROM memgraph_submission WHERE job_id = ANY(%(ids)s)"
DELETE_JOBS = "DELETE FROM memgraph_job WHERE id = ANY(%(ids)s)"
DELETE_USER_LEASES = f"DELETE FROM memgraph_lease WHERE {_IS_USERS}"

# -- jobs --

LOCK_JOB = f"""
    SELECT id, first_at, due_at, retry_at FROM memgraph_job
    WHERE {_OF_KEY} AND aside = %(aside)s AND storage = %(storage)s FOR UPDATE
"""
FIND_JOB = f"""
    SELECT id FROM memgraph_job WHERE {_OF_KEY} AND aside = FALSE AND storage IN (%(storage)s, '')
    ORDER BY storage DESC LIMIT 1
"""
# changes nothing if the storage has a job of its own in that conversation: then the old one stays without a name
ADOPT_JOB = f"""
    UPDATE memgraph_job SET storage = %(storage)s
    WHERE {_OF_KEY} AND aside = FALSE AND storage = '' AND NOT EXISTS (
        SELECT FROM memgraph_job WHERE {_OF_KEY} AND aside = FALSE AND storage = %(storage)s
    )
"""
LOCK_CLAIMED = "SELECT FROM memgraph_job WHERE id = %(id)s FOR UPDATE"
COUNT_PENDING = f"""
    SELECT count(*), count(*) FILTER (WHERE user_id = %(user_id)s)
    FROM memgraph_job WHERE aside = FALSE AND {_IS_SCHEDULED}
"""
INSERT_JOB = """
    INSERT INTO memgraph_job (user_id, agent_name, thread_id, storage, aside, first_at, last_at, due_at)
    VALUES (%(user_id)s, %(agent_name)s, %(thread_id)s, %(storage)s, %(aside)s, %(at)s, %(at)s, %(due)s)
    ON CONFLICT DO NOTHING RETURNING id
"""
UPDATE_DUE = "UPDATE memgraph_job SET last_at = %(at)s, due_at = %(due)s WHERE id = %(id)s"
RESET_JOB = """
    UPDATE memgraph_job
    SET first_at = %(first)s, last_at = %(last)s, due_at = %(due)s, retry_at = 0, tries = 0, error = ''
    WHERE id = %(id)s
"""
UPDATE_SPAN = "UPDATE memgraph_job SET first_at = %(first)s, last_at = %(last)s WHERE id = %(id)s"
MARK_FAILED = """
    UPDATE memgraph_job SET tries = tries + 1, error = %(error)s, retry_at = %(at)s, due_at = %(at)s
    WHERE id = %(id)s
"""
UPDATE_DEAD_LETTER = """
    UPDATE memgraph_job SET first_at = %(first)s, last_at = %(last)s, tries = %(tries)s, error = %(error)s
    WHERE id = %(id)s
"""
DELETE_JOB = "DELETE FROM memgraph_job WHERE id = %(id)s"
SELECT_DEAD_LETTERS = f"""
    SELECT user_id, agent_name, thread_id, storage FROM memgraph_job WHERE aside AND {_MATCHES_SCOPE} ORDER BY id
"""
EXPEDITE = f"""
    UPDATE memgraph_job SET due_at = %(now)s
    WHERE id IN (
        SELECT id FROM memgraph_job
        WHERE aside = FALSE AND due_at > %(now)s AND {_IS_SCHEDULED} AND {_MATCHES_SCOPE} ORDER BY id FOR UPDATE
    )
"""
LIST_JOBS = f"""
    SELECT job.id, user_id, agent_name, thread_id, count(*), min(number), max(number), first_at, last_at,
        due_at, tries, error, NOT aside AND {_UNDER_LEASE}, storage
    FROM memgraph_job AS job JOIN memgraph_submission ON job_id = job.id
    WHERE aside = %(aside)s AND {_IS_SCHEDULED} AND {_IS_OURS} GROUP BY job.id ORDER BY due_at, job.id
"""

# -- submissions --

INSERT_SUBMISSION = """
    INSERT INTO memgraph_submission (job_id, at, messages) VALUES (%(id)s, %(at)s, %(messages)s)
"""
FIND_SUBMISSION = """
    SELECT FROM memgraph_submission WHERE job_id = %(id)s AND at = %(at)s AND messages = %(messages)s
"""
SELECT_STORAGE = "SELECT storage FROM memgraph_job WHERE id = %(id)s"
SELECT_SUBMISSIONS = (
    "SELECT number, at, messages, forgotten FROM memgraph_submission WHERE job_id = %(id)s ORDER BY number"
)
# forgotten only if all of them are, since those that are not were merged
REPLACE_SUBMISSION = """
    UPDATE memgraph_submission SET at = %(at)s, messages = %(messages)s, forgotten = (
        SELECT bool_and(forgotten) FROM memgraph_submission WHERE job_id = %(id)s AND number = ANY(%(numbers)s)
    )
    WHERE job_id = %(id)s AND number = %(number)s
"""
LOCK_JOBS = f"SELECT FROM memgraph_job WHERE {_MATCHES_SCOPE} ORDER BY aside, id FOR UPDATE"
FORGET_SUBMISSIONS = f"""
    UPDATE memgraph_submission SET forgotten = TRUE
    WHERE job_id IN (SELECT id FROM memgraph_job WHERE {_MATCHES_SCOPE}) RETURNING number
"""
INSERT_DELETION = """
    INSERT INTO memgraph_deletion (storage, user_id, agent_name, at)
    VALUES (coalesce(%(storage)s, ''), %(user_id)s, %(agent_name)s, %(at)s)
    ON CONFLICT (user_id, agent_name, storage) DO UPDATE SET at = excluded.at
"""
INSERT_FOUND_DELETION = f"""
    INSERT INTO memgraph_deletion (storage, user_id, agent_name, at)
    SELECT coalesce(%(storage)s, ''), %(user_id)s, %(agent_name)s, %(at)s
    WHERE 0 = (SELECT count(*) FROM memgraph_job WHERE {_MATCHES_SCOPE})
    ON CONFLICT (user_id, agent_name, storage) DO UPDATE SET at = excluded.at
"""
SELECT_DELETION = """
    SELECT at FROM memgraph_deletion
    WHERE user_id = %(user_id)s AND agent_name = %(agent_name)s AND storage = %(storage)s
"""
DELETE_CLAIMED = "DELETE FROM memgraph_submission WHERE job_id = %(id)s AND number = ANY(%(numbers)s)"
MOVE_CLAIMED = """
    UPDATE memgraph_submission SET job_id = %(dead_letter_id)s WHERE job_id = %(id)s AND number = ANY(%(numbers)s)
"""
MOVE_SUBMISSIONS = "UPDATE memgraph_submission SET job_id = %(to)s WHERE job_id = %(id)s"
SELECT_SPAN = "SELECT min(at), max(at) FROM memgraph_submission WHERE job_id = %(id)s"

# -- review --

INSERT_REVIEW = """
    INSERT INTO memgraph_review (job_id, id, at, held) VALUES (%(job_id)s, %(id)s, %(at)s, %(held)s)
    ON CONFLICT (job_id) DO UPDATE SET id = excluded.id, at = excluded.at, held = excluded.held, decision = NULL
"""
MARK_IN_REVIEW = """
    UPDATE memgraph_job SET due_at = 'Infinity', retry_at = 'Infinity', tries = 0, error = '' WHERE id = %(job_id)s
"""
LOCK_REVIEWED_JOB = """
    SELECT FROM memgraph_job WHERE id = (SELECT job_id FROM memgraph_review WHERE id = %(id)s) FOR UPDATE
"""
UPDATE_DECISION = (
    "UPDATE memgraph_review SET decision = %(decision)s WHERE id = %(id)s AND decision IS NULL RETURNING job_id"
)
FIND_DECISION = "SELECT FROM memgraph_review WHERE id = %(id)s AND decision = %(decision)s"
MARK_DECIDED = "UPDATE memgraph_job SET due_at = %(now)s, retry_at = 0 WHERE id = %(id)s"
SELECT_DECISION = "SELECT at, held, decision FROM memgraph_review WHERE job_id = %(id)s AND decision IS NOT NULL"
LIST_IN_REVIEW = f"""
    SELECT job.id, user_id, agent_name, thread_id, count(*), min(number), max(number), first_at, last_at,
        due_at, tries, error, FALSE, storage, review.id, review.at, held
    FROM memgraph_job AS job
    JOIN memgraph_submission AS submission ON submission.job_id = job.id
    JOIN memgraph_review AS review ON review.job_id = job.id
    WHERE decision IS NULL AND {_IS_OURS} GROUP BY job.id, review.job_id ORDER BY review.at, job.id
"""
LOCK_JOBS_IN_REVIEW = f"""
    SELECT id FROM memgraph_job WHERE aside = FALSE AND due_at = 'Infinity' AND {_MATCHES_SCOPE} ORDER BY id FOR UPDATE
"""
CANCEL_REVIEWS = "UPDATE memgraph_job SET due_at = %(now)s, retry_at = 0 WHERE id = ANY(%(ids)s)"
DELETE_REVIEWS = "DELETE FROM memgraph_review WHERE job_id = ANY(%(ids)s)"
MOVE_REVIEW = """
    UPDATE memgraph_review SET job_id = %(to)s
    WHERE job_id = %(id)s AND NOT EXISTS (SELECT FROM memgraph_review WHERE job_id = %(to)s)
"""

# -- leases --

# SKIP LOCKED: a job that another worker is claiming is skipped, not waited for
_SELECT_CLAIMABLE = "SELECT id, user_id, agent_name, thread_id, tries, storage FROM memgraph_job AS job"
_EARLIEST = f"""
    AND {_MATCHES_SCOPE} AND NOT {_UNDER_LEASE} ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED
"""
SELECT_DUE = f"{_SELECT_CLAIMABLE} WHERE aside = FALSE AND due_at <= %(now)s {_EARLIEST}"
SELECT_IMPOSSIBLE = f"{_SELECT_CLAIMABLE} WHERE aside = FALSE AND {_IS_IMPOSSIBLE} {_EARLIEST}"
# changes nothing if another job of this scope was claimed since SELECT_DUE
TAKE_LEASE = """
    INSERT INTO memgraph_lease AS lease (user_id, agent_name, storage, holder, since, until)
    VALUES (%(user_id)s, %(agent_name)s, %(storage)s, %(holder)s, %(now)s, %(until)s)
    ON CONFLICT (user_id, agent_name, storage)
    DO UPDATE SET holder = excluded.holder, since = excluded.since, until = excluded.until
    WHERE NOT (lease.until > %(now)s AND lease.since <= %(now)s + 5)
"""
LOCK_LEASE = "SELECT FROM memgraph_lease WHERE holder = %(lease)s FOR UPDATE"
RENEW_LEASE = """
    UPDATE memgraph_lease SET since = %(now)s, until = %(until)s WHERE holder = ANY(%(holders)s) RETURNING holder
"""
END_LEASE = "DELETE FROM memgraph_lease WHERE holder = %(lease)s"
NEXT_DUE = f"""
    SELECT min(due) FROM (
        SELECT min(due_at) AS due FROM memgraph_job AS job WHERE aside = FALSE AND {_IS_OURS} AND NOT {_UNDER_LEASE}
        UNION ALL
        SELECT %(now)s AS due WHERE EXISTS (
            SELECT FROM memgraph_job AS job
            WHERE aside = FALSE AND {_IS_IMPOSSIBLE} AND {_IS_OURS} AND NOT {_UNDER_LEASE}
        )
        UNION ALL
        SELECT min(greatest(due_at, until))
        FROM memgraph_lease AS lease JOIN memgraph_job AS job USING (user_id, agent_name)
        WHERE aside = FALSE AND (%(storage)s::text IS NULL OR job.storage IN (%(storage)s, ''))
        AND (lease.storage = job.storage OR '' IN (lease.storage, job.storage)) AND {_IS_HELD}
    ) AS next
"""
