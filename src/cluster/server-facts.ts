/** What `doctor` asks a server of PostgreSQL. */
import type { Connection } from './connection.js';
import { FIND_HOLDERS, SERVER_FACTS } from './statements.js';

/** What an operator has to know about a server: above all, what decides whether an acknowledged write can be lost. */
export interface ServerFacts {
  /** Its clock, milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether it syncs to disk. */
  readonly syncs: boolean;
  /** Connected standbys. */
  readonly standbys: number;
  readonly waitsForStandby: boolean;
}

export async function readServerFacts(reader: Connection): Promise<ServerFacts> {
  const [row] = await reader.query(SERVER_FACTS);
  return {
    nowMs: Number(row!['now_ms']),
    syncs: row!['fsync'] === 'on',
    standbys: Number(row!['standbys']),
    waitsForStandby: row!['names'] !== '',
  };
}

/** A session of PostgreSQL that keeps all nodes from writing. */
export interface Holder {
  /** The process of the server. */
  readonly pid: number;
  /** What it has locked: `turn`, or a table of the log. */
  readonly table: string;
  readonly role: string;
  readonly application: string;
  /** The same as long as it is the same transaction. */
  readonly since: string;
}

export async function findHolders(reader: Connection): Promise<readonly Holder[]> {
  return (await reader.query(FIND_HOLDERS)).map((row) => ({
    pid: Number(row['pid']),
    table: String(row['table']),
    role: String(row['role']),
    application: String(row['application']),
    since: String(row['since']),
  }));
}
