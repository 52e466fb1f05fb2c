/**
 * The texts of all statements for PostgreSQL. The tables are in a schema of their own, `zoneplane`: the log (`entries`, with
 * `parts` for large bodies), copies of the database from which nodes begin (`snapshots`, `pieces`), and the nodes.
 */

/** Version of these tables. A program of another version refuses to use them. */
export const LAYOUT = 2;

/** Where notifications are sent: `entry <number>` and `node <name>`. */
const CHANNEL = 'zoneplane';

/** The first half of the advisory locks of node names; arbitrary, but the same for all nodes. */
const NAMES = 1_516_138_342;

export const SERVER_FACTS = `
SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now_ms, current_setting('fsync') AS fsync, current_setting('synchronous_standby_names') AS names,
  (SELECT count(*) FROM pg_stat_replication) AS standbys`;

/** Only `cluster init` runs this: two nodes at once would collide in spite of IF NOT EXISTS. */
export const CREATE = `
CREATE SCHEMA zoneplane;
CREATE TABLE zoneplane.cluster (id uuid PRIMARY KEY, layout int NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  confirmed_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE TABLE zoneplane.entries (number bigint PRIMARY KEY, id text NOT NULL, after text NOT NULL, schema int NOT NULL, parts int NOT NULL,
  node text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp(), body bytea NOT NULL, digest bytea NOT NULL);
CREATE TABLE zoneplane.parts (id text, part int, at timestamptz NOT NULL DEFAULT clock_timestamp(), body bytea NOT NULL,
  PRIMARY KEY (id, part));
CREATE TABLE zoneplane.snapshots (number bigint PRIMARY KEY, schema int NOT NULL, pieces int NOT NULL, octets bigint NOT NULL,
  node text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE TABLE zoneplane.pieces (number bigint REFERENCES zoneplane.snapshots ON DELETE CASCADE, piece int, digest bytea NOT NULL,
  PRIMARY KEY (number, piece));
CREATE INDEX ON zoneplane.pieces (digest);
CREATE TABLE zoneplane.contents (digest bytea PRIMARY KEY, body bytea NOT NULL);
-- As digest.ts does it.
CREATE FUNCTION zoneplane.digest_of(number bigint, id text, after text, schema int, parts int, body bytea) RETURNS bytea LANGUAGE sql STABLE AS '
  SELECT sha256(convert_to(concat_ws('' '', $1, $2, $3, $4, $5), ''UTF8'') || CASE WHEN $5 = 0 THEN sha256($6)
    ELSE (SELECT sha256(string_agg(sha256(p.body), ''''::bytea ORDER BY p.part)) FROM zoneplane.parts p WHERE p.id = $2 AND p.part < $5) END)';
CREATE TABLE zoneplane.nodes (name text PRIMARY KEY, role text NOT NULL, version text NOT NULL, schema int NOT NULL, knows int NOT NULL, applied bigint NOT NULL,
  applied_id text NOT NULL, beat bigint NOT NULL, report text NOT NULL, seen_at timestamptz NOT NULL DEFAULT clock_timestamp());
-- Which nodes a role is that only follows.
CREATE TABLE zoneplane.followers (role name, node text, PRIMARY KEY (role, node));
-- Nothing is stored here: the turn to write is a lock on this table, which needs a right that only writers have.
CREATE TABLE zoneplane.turn ();
CREATE FUNCTION zoneplane.await_turn() RETURNS void LANGUAGE plpgsql AS
  'BEGIN LOCK TABLE zoneplane.turn IN ROW SHARE MODE; END';
CREATE FUNCTION zoneplane.may_be(role name, node text) RETURNS boolean LANGUAGE sql STABLE AS '
  SELECT has_table_privilege($1, ''zoneplane.entries'', ''INSERT'') OR EXISTS (
    SELECT FROM zoneplane.followers f JOIN pg_catalog.pg_roles r ON r.rolname = f.role
    WHERE f.node = $2 AND pg_has_role($1, r.oid, ''MEMBER''))';
-- With the rights of its owner, so that a role that follows has none on the table: not even to lock it.
CREATE FUNCTION zoneplane.tell_node(told_name text, told_role text, told_version text, told_schema int, told_knows int,
    told_applied bigint, told_applied_id text, told_report text)
  RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS '
BEGIN
  IF NOT zoneplane.may_be(session_user, told_name) THEN
    RAISE insufficient_privilege USING MESSAGE = format(''role %s is not node %s'', session_user, told_name);
  END IF;
  IF told_role = ''all'' AND NOT has_table_privilege(session_user, ''zoneplane.entries'', ''INSERT'') THEN
    RAISE insufficient_privilege USING MESSAGE = format(''role %s does not write'', session_user);
  END IF;
  IF octet_length(told_report) > 1048576 THEN RAISE program_limit_exceeded USING MESSAGE = ''the report is too long''; END IF;
  INSERT INTO zoneplane.nodes AS n (name, role, version, schema, knows, applied, applied_id, beat, report)
    VALUES (told_name, told_role, told_version, told_schema, told_knows, told_applied, told_applied_id, 1, told_report)
    ON CONFLICT (name) DO UPDATE SET role = excluded.role, version = excluded.version, schema = excluded.schema,
      knows = excluded.knows, applied = excluded.applied, applied_id = excluded.applied_id, beat = n.beat + 1, report = excluded.report, seen_at = clock_timestamp();
  PERFORM pg_notify(''zoneplane'', ''node '' || told_name);
END';
REVOKE ALL ON FUNCTION zoneplane.tell_node(text, text, text, int, int, bigint, text, text) FROM PUBLIC;
-- Bodies are deflated already.
ALTER TABLE zoneplane.entries ALTER body SET STORAGE EXTERNAL;
ALTER TABLE zoneplane.parts ALTER body SET STORAGE EXTERNAL;
ALTER TABLE zoneplane.contents ALTER body SET STORAGE EXTERNAL;`;

const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
const quotedText = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** What a role needs that follows the log as these nodes, and cannot write to it. */
export const grantsToFollower = (role: string, nodes: readonly string[]): string => `
GRANT USAGE ON SCHEMA zoneplane TO ${quotedName(role)};
GRANT SELECT ON ALL TABLES IN SCHEMA zoneplane TO ${quotedName(role)};
REVOKE INSERT, UPDATE, DELETE, TRUNCATE ON ALL TABLES IN SCHEMA zoneplane FROM ${quotedName(role)};
GRANT EXECUTE ON FUNCTION zoneplane.tell_node(text, text, text, int, int, bigint, text, text) TO ${quotedName(role)};
INSERT INTO zoneplane.followers (role, node) VALUES
  ${nodes.map((node) => `(${quotedText(role)}, ${quotedText(node)})`).join(',\n  ')} ON CONFLICT DO NOTHING;`;

/** What a role needs that writes and has not made the tables. */
export const grantsToWriter = (role: string): string => `
GRANT USAGE ON SCHEMA zoneplane TO ${quotedName(role)};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA zoneplane TO ${quotedName(role)};
GRANT EXECUTE ON FUNCTION zoneplane.tell_node(text, text, text, int, int, bigint, text, text) TO ${quotedName(role)};`;

/** A role that may do nothing else in this database. */
export const createRole = (role: string, database: string): string => `
CREATE ROLE ${quotedName(role)} LOGIN CONNECTION LIMIT 20;  -- then: \\password ${quotedName(role)}
GRANT CONNECT ON DATABASE ${quotedName(database)} TO ${quotedName(role)};`;

/** Of everybody: to make temporary tables, which fill the disk. */
export const restrictDatabase = (database: string): string =>
  `REVOKE ALL ON DATABASE ${quotedName(database)} FROM PUBLIC;`;

export const ADD_CLUSTER = 'INSERT INTO zoneplane.cluster (id, layout) VALUES ($1, $2)';

export const FIND_CLUSTER = 'SELECT id::text, layout FROM zoneplane.cluster';

/** The first question to a server. `backend`: its process for this connection. */
export const MEET = 'SELECT pg_is_in_recovery() AS standby, pg_backend_pid() AS backend';
export const FIND_SYSTEM = 'SELECT system_identifier::text AS value FROM pg_control_system()';
/** In hexadecimal digits. That of pg_control_checkpoint() would be the former one until minutes after a promotion. */
export const FIND_TIMELINE = 'SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS value';

/** An append waits for the turn of another node no longer than that. */
export const LOCK_TIMEOUT_MS = 5000;

/** A broken network must not keep a lock for long. */
const NOTICE_DEATH = 'SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3';

/** `off` and `local` would acknowledge what a failover loses. */
export const prepareWriter = (lockTimeoutMs: number): string => `
SET lock_timeout = ${lockTimeoutMs}; ${NOTICE_DEATH};
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')`;

export const LISTEN = `LISTEN ${CHANNEL}`;

const ENTRY_COLUMNS = 'number, id, after, schema, parts, node, body, digest';

export const ADD_FIRST_ENTRY = `INSERT INTO zoneplane.entries (${ENTRY_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;

/**
 * One row when the entry was added; none when its number is taken, its predecessor is another one or missing, or its digest
 * says that something of it has changed on the way. $9: whether the turn is that of this node.
 */
export const APPEND = `
WITH added AS (
  INSERT INTO zoneplane.entries (${ENTRY_COLUMNS})
  SELECT $1::bigint, $2, $3, $4::int, $5::int, $6, $7::bytea, $8::bytea
  FROM (SELECT CASE WHEN NOT $9::boolean THEN zoneplane.await_turn() END OFFSET 0) turn
  WHERE EXISTS (SELECT FROM zoneplane.entries WHERE number = $1::bigint - 1 AND id = $3)
    AND zoneplane.digest_of($1::bigint, $2, $3, $4::int, $5::int, $7::bytea) = $8::bytea
  ON CONFLICT (number) DO NOTHING RETURNING number)
SELECT pg_notify('${CHANNEL}', 'entry ' || number::text) FROM added`;

/** The entry with a number, and the one before it. */
export const FIND_ENTRY = `SELECT (SELECT id FROM zoneplane.entries WHERE number = $1::bigint) AS id,
  (SELECT id FROM zoneplane.entries WHERE number = $1::bigint - 1) AS before`;

/** Whether an entry is stored as it was appended. */
export const IS_WHOLE =
  'SELECT zoneplane.digest_of(number, id, after, schema, parts, body) = digest AS whole FROM zoneplane.entries WHERE number = $1';

/** Resolves only when everything before it is on the standby, too, if there must be one. */
export const CONFIRM = 'UPDATE zoneplane.cluster SET confirmed_at = clock_timestamp()';

/** Milliseconds; shorter than another node waits for the turn. */
const MOST_IDLE_IN_TURN = 3000;
/**
 * A process that stands still (SIGSTOP, a frozen container) answers keepalives: the server ends its session, so that it does not
 * keep the turn.
 */
export const prepareTurn = (lockTimeoutMs: number): string =>
  `SET lock_timeout = ${lockTimeoutMs}; ${NOTICE_DEATH}; SET idle_in_transaction_session_timeout = ${MOST_IDLE_IN_TURN}`;
/** It lasts as long as the transaction. Appends of others wait for it. */
export const TAKE_TURN = 'BEGIN; LOCK TABLE zoneplane.turn IN EXCLUSIVE MODE';
export const END_TURN = 'COMMIT';

/** Sessions that keep writers waiting; `since` stays the same as long as it is one transaction. */
export const FIND_HOLDERS = `
SELECT l.pid, c.relname AS "table", a.usename AS role, a.application_name AS application, l.virtualtransaction AS since
FROM pg_locks l JOIN pg_class c ON c.oid = l.relation JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_activity a ON a.pid = l.pid
WHERE n.nspname = 'zoneplane' AND c.relname IN ('turn', 'entries', 'parts', 'cluster') AND l.granted AND l.pid <> pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') ORDER BY l.pid, c.relname`;

/**
 * The entry at a position, without its body, and some of those after it, no more octets than $3 unless the first alone is
 * larger; `last`: the number of the last entry of the log.
 */
export const READ = `
SELECT number, id, after, schema, parts, body, digest, (SELECT max(number) FROM zoneplane.entries) AS last FROM (
  SELECT number, id, after, schema, parts, body, digest, sum(octets) OVER (ORDER BY number) - octets AS before FROM (
    SELECT number, id, after, schema, parts, digest, CASE WHEN number > $1 THEN body ELSE '' END AS body,
      CASE WHEN number > $1 THEN octet_length(body) + parts * 8388608::bigint ELSE 0 END AS octets
    FROM zoneplane.entries WHERE number >= $1 ORDER BY number LIMIT $2::bigint + 1) next) counted
WHERE before < $3 ORDER BY number`;

/** Where the log stands: the entry at a position, and its last and first numbers. */
export const LOOK = `
SELECT (SELECT id FROM zoneplane.entries WHERE number = $1) AS id,
  (SELECT max(number) FROM zoneplane.entries) AS last, (SELECT min(number) FROM zoneplane.entries) AS first`;

/** The identifiers of entries from one number to another. */
export const FIND_IDS = 'SELECT number, id FROM zoneplane.entries WHERE number BETWEEN $1 AND $2';

/** $4: the digest of the part. */
export const ADD_PART = `INSERT INTO zoneplane.parts (id, part, body) SELECT $1, $2::int, $3::bytea WHERE sha256($3::bytea) = $4::bytea
  ON CONFLICT (id, part) DO NOTHING`;
export const READ_PART = 'SELECT body FROM zoneplane.parts WHERE id = $1 AND part = $2';
export const DELETE_PARTS = 'DELETE FROM zoneplane.parts WHERE id = $1';

/** One snapshot is made at a time: it may rely on contents that are there. */
export const BEGIN_SNAPSHOT = 'BEGIN; LOCK TABLE zoneplane.snapshots IN SHARE ROW EXCLUSIVE MODE';
/** Of a position that the log has: a copy of which the log has lost entries must not become that of others. */
export const ADD_SNAPSHOT = `INSERT INTO zoneplane.snapshots (number, schema, pieces, octets, node)
  SELECT $1::bigint, $2::int, 0, $3::bigint, $4 WHERE EXISTS (SELECT FROM zoneplane.entries WHERE number = $1::bigint AND id = $5)
  ON CONFLICT (number) DO NOTHING RETURNING number`;
/** Pieces from number $2 on, whose digests are $3, one after the other. Returns those whose content is missing. */
export const ADD_PIECES = `
WITH added AS (
  INSERT INTO zoneplane.pieces (number, piece, digest)
  SELECT $1::bigint, $2::int + i, substring($3::bytea FROM 32 * i + 1 FOR 32) FROM generate_series(0, octet_length($3::bytea) / 32 - 1) i
  RETURNING piece, digest)
SELECT min(piece) AS piece FROM added WHERE NOT EXISTS (SELECT FROM zoneplane.contents WHERE contents.digest = added.digest)
GROUP BY added.digest ORDER BY 1`;
/** The digest of a piece is that of the octets in the file; $3: that of the octets that are sent. One row when it was stored. */
export const ADD_CONTENT = `INSERT INTO zoneplane.contents (digest, body)
  SELECT $1::bytea, $2::bytea WHERE sha256($2::bytea) = $3::bytea RETURNING true AS added`;
export const END_SNAPSHOT = 'UPDATE zoneplane.snapshots SET pieces = $2 WHERE number = $1';
export const LIST_SNAPSHOTS =
  'SELECT number, schema, pieces, octets, node, at FROM zoneplane.snapshots ORDER BY number DESC';
/** Pieces from number $2 on, no more than $3. */
export const READ_PIECES = `SELECT piece, digest, body FROM zoneplane.pieces LEFT JOIN zoneplane.contents USING (digest)
  WHERE number = $1 AND piece >= $2::int ORDER BY piece LIMIT $3`;
/** How much a node has to apply behind a position: octets, and what an entry costs however small it is. */
export const WEIGH_LOG = `SELECT coalesce(sum(octet_length(body) + parts * 8388608::bigint + 512), 0)::text AS weight
  FROM zoneplane.entries WHERE number > $1`;

/** The last two snapshots stay. */
export const PRUNE_SNAPSHOTS = `DELETE FROM zoneplane.snapshots WHERE number < (
  SELECT min(number) FROM (SELECT number FROM zoneplane.snapshots ORDER BY number DESC LIMIT 2) kept)`;
/** What no snapshot consists of any more. */
export const PRUNE_CONTENTS = `DELETE FROM zoneplane.contents
  WHERE NOT EXISTS (SELECT FROM zoneplane.pieces WHERE pieces.digest = contents.digest)`;
/**
 * Entries stay that are behind the older snapshot, or younger than seven days; the newest of the others stays, too, as their
 * predecessor.
 */
export const PRUNE_ENTRIES = `DELETE FROM zoneplane.entries WHERE at < clock_timestamp() - interval '7 days'
  AND number < (SELECT min(number) FROM zoneplane.snapshots)`;
/** Parts whose entry was pruned, or never added. */
export const PRUNE_PARTS = `DELETE FROM zoneplane.parts WHERE at < clock_timestamp() - interval '1 day'
  AND NOT EXISTS (SELECT FROM zoneplane.entries WHERE entries.id = parts.id)`;

/** A lock of a role that must not be this node is not a claim: anybody can take it. */
export const TRY_NAME = `SELECT CASE WHEN pg_try_advisory_lock(${NAMES}, hashtext($1)) THEN true ELSE NOT EXISTS (
  SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.pid <> pg_backend_pid()
    AND l.classid = ${NAMES} AND l.objid = (hashtext($1)::bigint & 4294967295)::oid
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND zoneplane.may_be(a.usename, $1)) END AS free`;

export const REPORT = 'SELECT zoneplane.tell_node($1, $2, $3, $4::int, $5::int, $6::bigint, $7, $8)';
export const LIST_NODES = `
SELECT name, role, version, schema, knows, applied, applied_id, beat, report, seen_at,
  extract(epoch FROM clock_timestamp() - seen_at) AS age FROM zoneplane.nodes ORDER BY name`;
export const DELETE_NODE = 'DELETE FROM zoneplane.nodes WHERE name = $1';
