/** What `doctor` asks a server of PostgreSQL. */
import type { Connection } from './connection.js';
import { SERVER_FACTS } from './statements.js';

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
