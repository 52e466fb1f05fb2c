/**
 * The socket of the data directory. The admin process listens at it; DNS processes, edge processes and commands connect to it,
 * whether one `serve` runs them all or people run them apart. Each message is a line. A process is known as long as its connection
 * lives.
 *
 * | line | from | meaning |
 * | `PID CHANGE ZONE:CHANGE…` | DNS | it answers all changes up to this one, except for these zones from their change on (`!`: held) |
 * | `edge PID ROW OWNER…` | edge | the last row of `edge_changes` that it has read, and owners whose certificates it cannot use |
 * | `keys` | DNS | it needs keys of the vault (vault/delegate.ts); the answer is `keys` with the keys |
 * | `transferred ZONE ADDRESS` | DNS | a transfer to this address has ended |
 * | `notified ZONE` | DNS | a primary has sent NOTIFY |
 * | `observed REPORT` | DNS | what was asked within a second (observe/report.ts) |
 * | `relay …`, `answer …` | DNS, admin | a message that only the admin process may answer, and its answer (relay.ts) |
 * | `committed` | commands, admin | the store has changed; the admin process passes it on to everybody, who then read the store |
 */
import { closeSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { EdgeReports } from '../../certs/deployment.js';
import type { Propagation, UnpublishedZone } from '../../control/kernel/propagation.js';
import { createRelay, parseRelayed, printAnswer, type Relayed, type RelayedAnswer } from './relay.js';

const SOCKET_FILE = 'changes.sock';
/** Milliseconds until a DNS process reconnects to the admin process. */
const RECONNECT_MS = 500;
/** The kernel limits socket paths to 108 octets including the final zero on Linux, and to 104 elsewhere. */
const LONGEST_PATH = 100;
/**
 * The largest number of zones named in a line. With more of them, no change from the first change of the others on
 * counts as served.
 */
const MOST_NAMED = 50;
const LONGEST_LINE = 64 + MOST_NAMED * 58;
const LINE = new RegExp(`^(\\d{1,10}) (\\d{1,16})((?: \\d{1,16}:\\d{1,16}!?){0,${MOST_NAMED}})$`);

const EDGE_LINE = new RegExp(`^edge (\\d{1,10}) (\\d{1,16})((?: [a-z]{1,16}:[0-9a-f-]{1,40}){0,${MOST_NAMED}})$`);

const COMMITTED = 'committed';
const KEYS = 'keys';
/** A line that cannot be any message. */
const LONGEST_OF_ALL = 100_000;
const OBSERVED = 'observed ';
/** Octets that may wait for the admin process before reports are dropped. */
const MOST_WAITING = 4 * 1024 * 1024;
const NOTIFIED = /^notified (\d{1,16})$/;
const TRANSFERRED = /^transferred (\d{1,16}) ([0-9a-fA-F.:]{2,64})$/;

interface SocketPath {
  readonly path: string;
  release(): void;
}

/** A path that is too long is replaced by one through an open descriptor of the directory. */
function socketPath(dataDir: string): SocketPath {
  const path = join(dataDir, SOCKET_FILE);
  if (Buffer.byteLength(path) <= LONGEST_PATH || process.platform !== 'linux') return { path, release: () => {} };
  const descriptor = openSync(dataDir, 'r');
  return { path: `/proc/self/fd/${descriptor}/${SOCKET_FILE}`, release: () => closeSync(descriptor) };
}

/** The parts that receive what processes report. */
export interface ProcessListeners {
  readonly propagation: Propagation;
  readonly edges: EdgeReports;
  /** Takes reports about questions. */
  readonly observed?: (line: string) => void;
  /** Without it, DNS processes get no keys. */
  readonly transfers?: TransferHearing;
}

/** What the admin process does with other messages of DNS processes. */
export interface TransferHearing {
  /** What DNS processes may open, as vault/delegate.ts prints it. */
  keys(): string;
  /** A transfer of a zone (store number) to an address has ended. */
  transferred(zone: number, address: string): void;
  /** A primary has sent NOTIFY for a zone (store number). */
  notified(zone: number): void;
  /** Answers a message that a DNS process received from this address; undefined: there is no answer. Never rejects. */
  answer(request: Uint8Array, address: string): Promise<Uint8Array | undefined>;
}

export interface Hearing {
  /** Wakes all followers: this process has committed. */
  tellCommitted(): void;
  close(): void;
}

/**
 * The side of the admin process, which holds the data directory's admin lock. Resolves when it listens. If it cannot
 * listen, that is logged, and no change ever counts as served. `onCommitted` is called when another process has
 * committed.
 */
export async function hearAcknowledgements(
  dataDir: string,
  listeners: ProcessListeners,
  log: Logger,
  onCommitted: () => void = () => {},
): Promise<Hearing> {
  const { path, release } = socketPath(dataDir);
  rmSync(join(dataDir, SOCKET_FILE), { force: true });
  const sockets = new Set<Socket>();
  let connections = 0;
  const tellCommitted = (): void => {
    // A process that has not read its last line has a wake-up waiting.
    for (const socket of sockets) if (socket.writableLength === 0) socket.write(`${COMMITTED}\n`);
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    hearProcess(socket, ++connections, listeners, () => {
      tellCommitted();
      onCommitted();
    });
  });
  await listen(server, path, log);
  return {
    tellCommitted,
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      release();
    },
  };
}

function listen(server: Server, path: string, log: Logger): Promise<void> {
  return new Promise((resolve) => {
    server.once('listening', resolve);
    server.on('error', (error) => {
      log.warn({ reason: messageOf(error) }, 'DNS processes cannot report what they serve: no change will be INSYNC');
      resolve();
    });
    // Only users with access to the data directory can connect.
    server.listen(path);
  });
}

function hearProcess(socket: Socket, connection: number, listeners: ProcessListeners, onCommitted: () => void): void {
  let forget = (): void => {};
  socket.unref();
  socket.on('error', () => {});
  const lines = createInterface({ input: socket });
  lines.on('error', () => {});
  lines.on('line', (line) => {
    if (line === COMMITTED) {
      onCommitted();
      return;
    }
    if (line === KEYS) {
      socket.write(`${KEYS} ${listeners.transfers?.keys() ?? ''}\n`);
      return;
    }
    if (line.startsWith(OBSERVED)) {
      listeners.observed?.(line.slice(OBSERVED.length));
      return;
    }
    const relayed = line.length <= LONGEST_OF_ALL ? parseRelayed(line) : undefined;
    if (relayed) {
      void answerRelayed(socket, relayed, listeners.transfers);
      return;
    }
    const [, notified] = NOTIFIED.exec(line) ?? [];
    if (notified !== undefined) {
      listeners.transfers?.notified(Number(notified));
      return;
    }
    const [, zone, address] = TRANSFERRED.exec(line) ?? [];
    if (zone !== undefined && address !== undefined) {
      listeners.transfers?.transferred(Number(zone), address);
      return;
    }
    const known = line.length <= LONGEST_LINE && hearLine(line, connection, listeners);
    if (known) forget = known;
    else socket.destroy();
  });
  socket.once('close', () => forget());
}

async function answerRelayed(socket: Socket, relayed: Relayed, transfers: TransferHearing | undefined): Promise<void> {
  const answer = await transfers?.answer(relayed.request, relayed.address);
  if (!socket.destroyed) socket.write(printAnswer(relayed.number, answer));
}

/** Hands on what a line says. Returns what to call when the process has ended; undefined for a line that says nothing. */
function hearLine(
  line: string,
  connection: number,
  { propagation, edges }: ProcessListeners,
): (() => void) | undefined {
  const [, edgePid, read, unusable = ''] = EDGE_LINE.exec(line) ?? [];
  if (edgePid !== undefined) {
    const name = `edge-${connection} (process ${edgePid})`;
    edges.report(name, Number(read), unusable.split(' ').filter(Boolean));
    return () => edges.forget(name);
  }
  const [, pid, applied, zones = ''] = LINE.exec(line) ?? [];
  if (pid === undefined) return undefined;
  const name = `dns-${connection} (process ${pid})`;
  propagation.report({ name, applied: Number(applied), unpublished: parseZones(zones) });
  return () => propagation.forget(name);
}

function parseZones(text: string): UnpublishedZone[] {
  return text
    .split(' ')
    .filter(Boolean)
    .map((word) => {
      const [zone, change] = word.replace('!', '').split(':').map(Number);
      return { zone: zone!, change: change!, isHeld: word.endsWith('!') };
    });
}

function printLine({ appliedChange, loadingZones, heldZones }: AnsweredChanges): string {
  const zones = [
    ...heldZones.map(({ zone, change }) => ({ change, word: ` ${zone}:${change}!` })),
    ...loadingZones.map(({ zone, change }) => ({ change, word: ` ${zone}:${change}` })),
  ];
  const firstUnnamed = Math.min(...zones.slice(MOST_NAMED).map(({ change }) => change));
  const named = zones.slice(0, MOST_NAMED).map(({ word }) => word);
  return `${process.pid} ${Math.max(0, Math.min(appliedChange, firstUnnamed - 1))}${named.join('')}\n`;
}

/** The change that a process serves, with the zones that lag behind it. */
export interface AnsweredChanges {
  readonly appliedChange: number;
  readonly loadingZones: readonly ZoneAndChange[];
  readonly heldZones: readonly ZoneAndChange[];
}

/** A zone by its store number, and its first change that is not published. */
type ZoneAndChange = Pick<UnpublishedZone, 'zone' | 'change'>;

export interface Acknowledger<Said> {
  tell(said: Said): void;
  /** Asks for the keys of the vault. */
  askKeys(): void;
  /** A transfer of a zone (store number) to an address has ended. */
  tellTransferred(zone: number, address: string): void;
  /** A primary has sent NOTIFY for a zone (store number). */
  tellNotified(zone: number): void;
  /** Has the admin process answer a message from this address. Never rejects. */
  relay(request: Uint8Array, address: string): Promise<RelayedAnswer>;
  /** A report about questions; dropped while nobody listens. */
  tellObserved(line: string): void;
  close(): void;
}

/**
 * The side of a DNS process. `onCommitted` is called after commits, and after each connection, because a commit may have
 * happened before. `onKeys` receives the keys of the vault, which are asked for with each connection.
 */
export function startAcknowledger(
  dataDir: string,
  answered: () => AnsweredChanges,
  clock: Clock,
  onCommitted: () => void = () => {},
  onKeys?: (text: string) => void,
): Acknowledger<AnsweredChanges> {
  return startTelling(dataDir, answered, printLine, clock, onCommitted, onKeys);
}

/** What an edge process says. */
export interface EdgeProgress {
  /** The last row of `edge_changes` that it has read. */
  readonly change: number;
  /** Owners, as `kind:id`, whose certificate it cannot use. */
  readonly unusable: readonly string[];
}

/** The side of an edge process. `onCommitted`: as above. */
export function startEdgeAcknowledger(
  dataDir: string,
  read: () => EdgeProgress,
  clock: Clock,
  onCommitted: () => void = () => {},
): Acknowledger<EdgeProgress> {
  const print = ({ change, unusable }: EdgeProgress): string =>
    `${['edge', process.pid, change, ...unusable.slice(0, MOST_NAMED)].join(' ')}\n`;
  return startTelling(dataDir, read, print, clock, onCommitted);
}

/** Connects, and reconnects after the admin process was away. */
function startTelling<Said>(
  dataDir: string,
  current: () => Said,
  print: (said: Said) => string,
  clock: Clock,
  onCommitted: () => void,
  onKeys?: (text: string) => void,
): Acknowledger<Said> {
  let socket: Socket | undefined;
  let cancel = (): void => {};
  let closed = false;
  const relay = createRelay((line) => {
    if (!socket) return false;
    socket.write(line);
    return true;
  });

  const tell = (said: Said): void => void socket?.write(print(said));

  const open = (): void => {
    const { path, release } = socketPath(dataDir);
    const fresh = connect(path);
    fresh.unref();
    fresh.once('connect', () => {
      release();
      socket = fresh;
      tell(current());
      if (onKeys) fresh.write(`${KEYS}\n`);
      onCommitted();
    });
    const lines = createInterface({ input: fresh });
    lines.on('error', () => {});
    lines.on('line', (line) => {
      if (line.startsWith(`${KEYS} `)) onKeys?.(line.slice(KEYS.length + 1));
      else if (!relay.hear(line)) onCommitted();
    });
    fresh.once('error', () => {
      if (socket !== fresh) release();
    });
    fresh.on('error', () => {});
    fresh.once('close', () => {
      socket = undefined;
      relay.lose();
      if (!closed) cancel = clock.after(RECONNECT_MS, open);
    });
  };
  open();

  return {
    tell,
    askKeys: () => void socket?.write(`${KEYS}\n`),
    tellNotified: (zone) => void socket?.write(`notified ${zone}\n`),
    tellTransferred: (zone, address) => void socket?.write(`transferred ${zone} ${address}\n`),
    relay: relay.send,
    tellObserved(line) {
      if (socket && socket.writableLength < MOST_WAITING) socket.write(`${OBSERVED}${line}\n`);
    },
    close() {
      closed = true;
      cancel();
      relay.lose();
      socket?.destroy();
    },
  };
}

/** The side of a command: reports that it has committed. Resolves when that is sent, or when no process listens. */
export function sayCommitted(dataDir: string): Promise<void> {
  const { path, release } = socketPath(dataDir);
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('error', () => {});
    socket.once('close', () => {
      release();
      resolve();
    });
    // Does not wait for a stopped admin process: the data stays in its socket.
    socket.end(`${COMMITTED}\n`, () => socket.destroy());
  });
}
