/**
 * The nodes of a cluster: each tells the others how far it is, in its own row. Whether a node lives is decided by the
 * observer's own clock: a row that has not changed for a while belongs to a node that is gone.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Connection } from './connection.js';
import { DELETE_NODE, LIST_NODES, REPORT, TRY_NAME } from './statements.js';

/** What a node says about itself. */
export interface NodeReport {
  readonly name: string;
  /** Such as `all` or `dns`. */
  readonly role: string;
  readonly version: string;
  /** Of its copy. */
  readonly schema: number;
  /** The newest schema that its program knows. */
  readonly knows: number;
  /** The last entry of the log that its copy has. */
  readonly applied: number;
  /** Its identifier. */
  readonly appliedId: string;
  /** Text for the other nodes; this module does not read it. */
  readonly report: string;
}

export interface NodeRow extends NodeReport {
  /** Counts reports. */
  readonly beat: number;
  /** Seconds since its last report on the clock of PostgreSQL; for people. */
  readonly ageSeconds: number;
}

export const HEARTBEAT_MS = 5000;
/** A node that has not reported for so long is gone. */
export const GONE_MS = 15_000;

export async function listNodes(reader: Connection): Promise<readonly NodeRow[]> {
  const rows = await reader.query(LIST_NODES);
  return rows.map((row) => ({
    name: String(row['name']),
    role: String(row['role']),
    version: String(row['version']),
    schema: Number(row['schema']),
    knows: Number(row['knows']),
    applied: Number(row['applied']),
    appliedId: String(row['applied_id']),
    beat: Number(row['beat']),
    report: String(row['report']),
    ageSeconds: Number(row['age']),
  }));
}

/** Writes the row of a node; the others are notified. */
export async function tellNode(connection: Connection, told: NodeReport): Promise<void> {
  const { name, role, version, schema, knows, applied, appliedId, report } = told;
  await connection.query(REPORT, [name, role, version, schema, knows, applied, appliedId, report]);
}

/** Removes a node that has left. */
export async function removeNode(connection: Connection, name: string): Promise<void> {
  await connection.query(DELETE_NODE, [name]);
}

/** Claims a name for as long as the connection lives; false when another process has it. */
export async function claimName(connection: Connection, name: string): Promise<boolean> {
  const [row] = await connection.query(TRY_NAME, [name]);
  return row?.['free'] === true;
}

/** Live nodes that do not know a schema: it must wait for them. */
export function nodesWithout(nodes: readonly NodeRow[], schema: number): readonly NodeRow[] {
  return nodes.filter(({ ageSeconds, knows }) => ageSeconds * 1000 < GONE_MS && knows < schema);
}

export interface NodeWatch {
  /** Hands over what was read now; returns the nodes that live. */
  see(rows: readonly NodeRow[]): readonly NodeRow[];
  /** PostgreSQL was away: nobody could report, so nobody is gone for that reason. */
  forgive(): void;
}

export function watchNodes(clock: Clock): NodeWatch {
  let seen = new Map<string, { readonly beat: number; readonly sinceMs: number }>();
  return {
    see(rows) {
      const nowMs = steadyMs(clock);
      const before = seen;
      seen = new Map(
        rows.map(({ name, beat, ageSeconds }) => {
          const known = before.get(name);
          if (known?.beat === beat) return [name, known];
          // A row that this process sees for the first time may be old.
          const sinceMs = known === undefined && ageSeconds * 1000 > GONE_MS ? nowMs - GONE_MS : nowMs;
          return [name, { beat, sinceMs }];
        }),
      );
      return rows.filter(({ name }) => nowMs - seen.get(name)!.sinceMs < GONE_MS);
    },
    forgive() {
      const nowMs = steadyMs(clock);
      seen = new Map(
        [...seen].map(([name, { beat, sinceMs }]) => [
          name,
          { beat, sinceMs: nowMs - sinceMs < GONE_MS ? nowMs : sinceMs },
        ]),
      );
    },
  };
}
