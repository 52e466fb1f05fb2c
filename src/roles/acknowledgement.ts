/**
 * DNS processes tell the admin process up to which change they answer: over a socket in the data directory, so that it is the
 * same whether one `serve` runs both or people run them apart. A process is known as long as its connection lives; every line holds
 * its process number, the change, and for each zone that is not published `zone:change`, with `!` when it is held.
 */
import { closeSync, openSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Propagation, UnpublishedZone } from '../control/write/propagation.js';

const SOCKET_FILE = 'changes.sock';
/** Milliseconds until a DNS process tries again to reach the admin process. */
const RECONNECT_MS = 500;
/** The kernel's limit for the path of a socket is 108 octets with the final zero on Linux, 104 elsewhere. */
const LONGEST_PATH = 100;
/** Zones named in a line; with more of them, no change since the first of the others counts as answered. */
const MOST_NAMED = 50;
const LONGEST_LINE = 64 + MOST_NAMED * 35;
const LINE = new RegExp(`^(\\d{1,10}) (\\d{1,16})((?: \\d{1,16}:\\d{1,16}!?){0,${MOST_NAMED}})$`);

interface SocketPath {
  readonly path: string;
  release(): void;
}

/** A long path is gone round through an open descriptor of the directory. */
function socketPath(dataDir: string): SocketPath {
  const path = join(dataDir, SOCKET_FILE);
  if (Buffer.byteLength(path) <= LONGEST_PATH || process.platform !== 'linux') return { path, release: () => {} };
  const descriptor = openSync(dataDir, 'r');
  return { path: `/proc/self/fd/${descriptor}/${SOCKET_FILE}`, release: () => closeSync(descriptor) };
}

/**
 * The side of the admin process, which alone holds the data directory's admin lock. Resolves when it listens; when it cannot,
 * that is logged, and no change is ever known to be served.
 */
export async function hearAcknowledgements(
  dataDir: string,
  propagation: Propagation,
  log: Logger,
): Promise<{ close(): void }> {
  const { path, release } = socketPath(dataDir);
  rmSync(join(dataDir, SOCKET_FILE), { force: true });
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    hearProcess(socket, `dns-${++connections}`, propagation);
  });
  await listen(server, path, log);
  return {
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
      log.warn({ reason: messageOf(error) }, 'DNS processes cannot say what they serve: no change will be INSYNC');
      resolve();
    });
    // Only who may use the data directory gets there.
    server.listen(path);
  });
}

function hearProcess(socket: Socket, connection: string, propagation: Propagation): void {
  let name: string | undefined;
  socket.unref();
  socket.on('error', () => {});
  const lines = createInterface({ input: socket });
  lines.on('error', () => {});
  lines.on('line', (line) => {
    const [, pid, applied, zones = ''] = (line.length <= LONGEST_LINE && LINE.exec(line)) || [];
    if (pid === undefined) {
      socket.destroy();
      return;
    }
    name = `${connection} (process ${pid})`;
    propagation.report({ name, applied: Number(applied), unpublished: parseZones(zones) });
  });
  socket.once('close', () => {
    if (name !== undefined) propagation.forget(name);
  });
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

/** Up to which change a process answers, but for the zones named. */
export interface AnsweredChanges {
  readonly appliedChange: number;
  readonly loadingZones: readonly ZoneAndChange[];
  readonly heldZones: readonly ZoneAndChange[];
}

/** A zone by its store number, and the first change that queries do not see. */
type ZoneAndChange = Pick<UnpublishedZone, 'zone' | 'change'>;

export interface Acknowledger {
  tell(answered: AnsweredChanges): void;
  close(): void;
}

/** The side of a DNS process: connects, and connects again when the admin process was away. */
export function startAcknowledger(dataDir: string, answered: () => AnsweredChanges, clock: Clock): Acknowledger {
  let socket: Socket | undefined;
  let cancel = (): void => {};
  let closed = false;

  const tell = (changes: AnsweredChanges): void => void socket?.write(printLine(changes));

  const open = (): void => {
    const { path, release } = socketPath(dataDir);
    const fresh = connect(path);
    fresh.unref();
    fresh.once('connect', () => {
      release();
      socket = fresh;
      tell(answered());
    });
    fresh.once('error', () => {
      if (socket !== fresh) release();
    });
    fresh.on('error', () => {});
    fresh.once('close', () => {
      socket = undefined;
      if (!closed) cancel = clock.after(RECONNECT_MS, open);
    });
  };
  open();

  return {
    tell,
    close() {
      closed = true;
      cancel();
      socket?.destroy();
    },
  };
}
