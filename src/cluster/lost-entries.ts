/**
 * Entries that PostgreSQL has lost in a failover, and nodes still have. If all nodes that live and write agree on what came behind
 * the end of the log, one of them appends it again, at the same positions. Otherwise, or if another history has begun there, each
 * node keeps what it had in a file.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, sleep, steadyMs } from '../base/clock.js';
import { writeDurably } from '../base/durable.js';
import type { Logger } from '../base/log.js';
import type { Store } from '../store/driver.js';
import type { Entry } from '../store/recording.js';
import type { Position } from '../store/replay.js';
import { GONE_MS, listNodes, type NodeRow } from './nodes.js';
import type { ClusterLog } from './postgres-log.js';
import { printEntry, type RecentEntries } from './recent-entries.js';
import { FIND_IDS, LOOK } from './statements.js';

export interface LostParts {
  readonly store: Store;
  readonly log: ClusterLog;
  readonly recent: RecentEntries;
  /** The name of this node. */
  readonly node: string;
  /** Whether it may append. */
  readonly appends: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

const PAUSE_MS = 250;
/** A node that is gone is waited for until that is known, and the one that is to append for as long again. */
const LIMIT_MS = 2 * GONE_MS;

/** Whether the log has the entries of this copy again. Throws when it cannot be reached. */
export async function recoverLost(parts: LostParts): Promise<boolean> {
  const { store, log, recent, clock } = parts;
  const position = store.position();
  const heard = createHearing(parts.node);
  for (const beginMs = steadyMs(clock); steadyMs(clock) - beginMs < LIMIT_MS; await sleep(PAUSE_MS)) {
    const [at] = await log.reader.query(LOOK, [position.number]);
    const last = Number(at?.['last'] ?? 0);
    if (at?.['id'] === position.id) return true;
    if (last >= position.number) return false;
    const chain = recent.upTo(position, last);
    const [end] = await log.reader.query(LOOK, [last]);
    const isWhole = chain.length === position.number - last;
    if (isWhole && end?.['id'] !== chain[0]!.after) return false;
    const others = heard(await listNodes(log.reader));
    if (others === undefined) continue;
    const turn = isWhole ? turnOf(parts.node, position, chain, others) : undefined;
    if (turn === 'refused') return false;
    const waitedMs = steadyMs(clock) - beginMs;
    if (turn === 'own' || (turn === 'other' && waitedMs > GONE_MS)) await appendAgain(parts, chain);
  }
  return false;
}

/**
 * Returns a function that gives the other nodes that live and write, once all of them have said where they are since the first
 * look; undefined before that.
 */
function createHearing(own: string) {
  let first: ReadonlyMap<string, number> | undefined;
  return (rows: readonly NodeRow[]): readonly NodeRow[] | undefined => {
    const living = rows.filter(
      ({ name, role, ageSeconds }) => name !== own && role === 'all' && ageSeconds * 1000 < GONE_MS,
    );
    first ??= new Map(living.map(({ name, beat }) => [name, beat]));
    return living.every(({ name, beat }) => first!.get(name) !== beat) ? living : undefined;
  };
}

/** Who appends: the node that has most, the first one by name of several. `refused`: a node has another history. */
function turnOf(
  node: string,
  { number }: Position,
  chain: readonly Entry[],
  others: readonly NodeRow[],
): 'own' | 'other' | 'refused' {
  const first = chain[0]!.number;
  const ids = new Map(chain.map((entry) => [entry.number, entry.id]));
  const ahead = others.filter(({ applied }) => applied >= first);
  if (ahead.some(({ applied, appliedId }) => applied <= number && ids.get(applied) !== appliedId)) return 'refused';
  const isFirst = ahead.every(({ name, applied }) => applied < number || (applied === number && node < name));
  return isFirst ? 'own' : 'other';
}

async function appendAgain({ log, logger, appends }: LostParts, chain: readonly Entry[]): Promise<void> {
  if (!appends) return;
  const [first, last] = [chain[0]!.number, chain.at(-1)!.number];
  for (const entry of chain) {
    // Another history has begun.
    if (!(await log.append(entry))) return;
  }
  logger.warn({ first, last }, 'PostgreSQL had lost entries that all nodes had: they were appended again');
}

const FILE = /^cluster-lost-(\d+)-(\d+)-(\d+)$/;

/** Stores those of the last entries of this copy that the log does not have. Returns the path of the file, if there are any. */
export async function keepLost(
  { store, log, recent, logger, clock }: LostParts,
  dataDir: string,
): Promise<string | undefined> {
  const chain = recent.upTo(store.position(), 0);
  if (chain.length === 0) return undefined;
  const rows = await log.reader.query(FIND_IDS, [chain[0]!.number, chain.at(-1)!.number]);
  const ids = new Map(rows.map((row) => [Number(row['number']), row['id']]));
  const common = chain.findLastIndex(({ number, id }) => ids.get(number) === id);
  const lost = chain.slice(common + 1);
  if (lost.length === 0) return undefined;
  const [first, last] = [lost[0]!.number, lost.at(-1)!.number];
  const path = join(dataDir, `cluster-lost-${first}-${last}-${clock.nowMs()}`);
  writeDurably(path, lost.map(printEntry).join(''));
  logger.error({ path, first, last }, 'the log has lost entries of this copy: `zoneplane cluster lost` prints them');
  return path;
}

export interface LostFile {
  readonly path: string;
  readonly first: number;
  readonly last: number;
  readonly atMs: number;
}

/** The oldest first. */
export function lostFiles(dataDir: string): readonly LostFile[] {
  return readdirSync(dataDir)
    .flatMap((name) => {
      const [, first, last, at] = FILE.exec(name) ?? [];
      if (first === undefined) return [];
      return [{ path: join(dataDir, name), first: Number(first), last: Number(last), atMs: Number(at) }];
    })
    .sort((a, b) => a.atMs - b.atMs);
}
