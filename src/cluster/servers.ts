/**
 * Which servers of PostgreSQL hold the log. When a standby is promoted, it begins a new timeline. The former primary may come
 * back beside it and accept writes, which the other nodes would never see. So each node remembers the highest timeline on which
 * it has found the log, and uses no server with a lower one. A log that was moved to another installation of PostgreSQL (another
 * system identifier) is not looked for in the former one any more.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../base/durable.js';
import { messageOf, UserError } from '../base/errors.js';
import { explainFileFailure } from '../base/file-failure.js';
import type { Logger } from '../base/log.js';

/** Absent parts: the server does not say, as some that are rented do, or where this user has no right to ask. */
export interface ServerIdentity {
  /** Given by `initdb`; standbys and physical backups have that of their primary. */
  readonly system?: string;
  /** Grows by at least one with each promotion. */
  readonly timeline?: number;
}

export interface KnownServers {
  /** Why a server must not be used; undefined: it may be. */
  refusal(server: ServerIdentity): string | undefined;
  /** The log on this server is that of this copy: no former one is used from now on, also after a restart of this node. */
  note(server: ServerIdentity): void;
}

/** In the data directory. */
const FILE = 'cluster-servers.json';
/** Systems that are remembered; the log moves rarely. */
const MOST_SYSTEMS = 16;

/** What is remembered: systems in the order in which they had the log; the last one is the current one. */
type Known = readonly ServerIdentity[];

/** Throws a UserError when what is remembered cannot be read. */
export function knownServers(dataDir: string, logger: Logger): KnownServers {
  const path = join(dataDir, FILE);
  let known = read(path);
  let isStored = true;
  let isTold = false;

  const store = (): void => {
    try {
      writeDurably(path, `${JSON.stringify({ servers: known })}\n`, 0o644);
      isStored = true;
      isTold = false;
    } catch (error) {
      // It is kept in memory, and stored when there is room again: the next note tries.
      const reason = messageOf(explainFileFailure(error, path));
      if (!isTold)
        logger.error({ reason }, 'which PostgreSQL holds the log is remembered only until this process ends');
      isTold = true;
    }
  };
  return {
    refusal: (server) => refusalOf(known, server),
    note(server) {
      const next = withServer(known, server);
      if (next === known && isStored) return;
      if (next !== known) isStored = false;
      known = next;
      store();
    },
  };
}

/** The copy is gone, or follows no log any more: what was known of its servers means nothing. */
export function forgetServers(dataDir: string): void {
  rmSync(join(dataDir, FILE), { force: true });
}

function refusalOf(known: Known, { system, timeline }: ServerIdentity): string | undefined {
  const current = known.at(-1);
  if (!current) return undefined;
  const isSame = system === undefined || current.system === undefined || system === current.system;
  if (!isSame) {
    if (!known.some((one) => one.system === system)) return undefined;
    return `the log has moved from this installation of PostgreSQL (system identifier ${system}) to another (${current.system}): it must not be used any more`;
  }
  if (timeline === undefined || current.timeline === undefined || timeline >= current.timeline) return undefined;
  return `it is a former primary: it accepts writes on timeline ${timeline}, but the log has gone on with timeline ${current.timeline}`;
}

/** Unchanged when there is nothing new. The server must not be one that is refused. */
function withServer(known: Known, server: ServerIdentity): Known {
  const { system, timeline } = server;
  const current = known.at(-1);
  if ((system === undefined && timeline === undefined) || refusalOf(known, server) !== undefined) return known;
  if (current && (system === undefined || current.system === undefined || system === current.system)) {
    const merged = { ...current, ...(system !== undefined && { system }), ...(timeline !== undefined && { timeline }) };
    const isNew = merged.system !== current.system || merged.timeline !== current.timeline;
    return isNew ? [...known.slice(0, -1), merged] : known;
  }
  return [...known, server].slice(-MOST_SYSTEMS);
}

function read(path: string): Known {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw explainFileFailure(error, path);
  }
  try {
    return (JSON.parse(text) as { readonly servers: readonly ServerIdentity[] }).servers.map(
      ({ system, timeline }) => ({
        ...(typeof system === 'string' && { system }),
        ...(typeof timeline === 'number' && { timeline }),
      }),
    );
  } catch (error) {
    throw new UserError(
      `${path} cannot be read: ${messageOf(error)}`,
      'It says which PostgreSQL server holds the log. Remove it if you are sure that no former primary accepts writes.',
    );
  }
}
