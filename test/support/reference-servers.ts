/**
 * NSD, Knot and BIND from the system's packages: they serve a test's zone files on loopback ports and are queried in
 * bulk.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-ports.js';
import type { ZoneSource } from './served-zones.js';

export const PROGRAMS = { nsd: '/usr/sbin/nsd', knot: '/usr/sbin/knotd', bind: '/usr/sbin/named' } as const;
const SETPRIV = '/usr/bin/setpriv';
export type ReferenceName = keyof typeof PROGRAMS;

/** Programs that are not installed. Under CI=true the caller must fail instead of skipping. */
export function missingReferences(): string[] {
  return Object.values(PROGRAMS).filter((program) => !existsSync(program));
}

export interface Reference {
  readonly name: ReferenceName;
  readonly port: number;
}

export interface References {
  readonly servers: readonly Reference[];
  stop(): Promise<void>;
}

/** Starts all three with the same zones; every zone they can load is served when this resolves. */
export async function startReferences(zones: readonly ZoneSource[]): Promise<References> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-references-'));
  const files = zones.map(({ text }, index) => {
    const file = join(directory, `zone-${index}`);
    writeFileSync(file, text, 'latin1');
    return file;
  });
  const children: ChildProcess[] = [];
  const servers: Reference[] = [];
  const logOf = (name: ReferenceName): string => join(directory, `${name}.log`);
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(endChild));
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    for (const name of Object.keys(PROGRAMS) as ReferenceName[]) {
      const port = await freePort();
      children.push(launch(name, configure(name, directory, port, zones, files), logOf(name)));
      servers.push({ name, port });
    }
    for (const { name, port } of servers) await waitForAnswers(name, port, logOf(name));
    return { servers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function configure(
  name: ReferenceName,
  directory: string,
  port: number,
  zones: readonly ZoneSource[],
  files: readonly string[],
): string[] {
  const own = join(directory, name);
  mkdirSync(own);
  const config = join(own, 'config');
  const each = (line: (apex: string, file: string) => string): string =>
    zones.map(({ apex }, index) => line(apex, files[index]!)).join('');
  switch (name) {
    case 'nsd':
      writeFileSync(
        config,
        `server:\n  ip-address: 127.0.0.1\n  port: ${port}\n  username: ""\n  zonesdir: "${own}"\n  pidfile: ""\n  database: ""\n` +
          `  xfrdfile: "${own}/xfrd"\n  zonelistfile: "${own}/list"\n  xfrdir: "${own}"\n  rrl-ratelimit: 0\n  minimal-responses: yes\nremote-control:\n  control-enable: no\n` +
          each((apex, file) => `zone:\n  name: "${apex}"\n  zonefile: "${file}"\n`),
      );
      return ['-d', '-c', config];
    case 'knot':
      writeFileSync(
        config,
        `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${own}\n  udp-workers: 1\n  tcp-workers: 1\ndatabase:\n  storage: ${own}\nzone:\n` +
          each(
            (apex, file) =>
              `  - domain: "${apex}"\n    file: ${file}\n    zonefile-sync: -1\n    journal-content: none\n    semantic-checks: off\n`,
          ),
      );
      return ['-c', config];
    case 'bind':
      writeFileSync(
        config,
        `options { directory "${own}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none;\n` +
          `  minimal-responses yes; check-integrity no; empty-zones-enable no; answer-cookie no; zero-no-soa-ttl no;\n  max-records-per-type 0; max-types-per-name 0; };\ncontrols { };\n` +
          each(
            (apex, file) =>
              `zone "${apex}" { type primary; file "${file}"; check-names ignore; check-mx ignore; check-srv-cname ignore; check-mx-cname ignore; };\n`,
          ),
      );
      return ['-g', '-n', '1', '-c', config];
  }
}

export function launch(name: ReferenceName, args: readonly string[], log: string): ChildProcess {
  const output = openSync(log, 'w');
  try {
    // Dies with the test, however that ends.
    const command = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', PROGRAMS[name]] : [PROGRAMS[name]];
    // In a group of its own: NSD's children keep the port for a moment after their parent was killed.
    return spawn(command[0]!, [...command.slice(1), ...args], { stdio: ['ignore', output, output], detached: true });
  } finally {
    closeSync(output);
  }
}

export async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  if (!signalGroup(child, 'SIGKILL')) child.kill('SIGKILL');
  await ended;
  for (let attempt = 0; attempt < 2000 && signalGroup(child, 0); attempt++) await sleep(20);
}

/** Returns false when the process leads no group, or none of the group is left. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-pid!, signal);
  } catch {
    return false;
  }
}

/** Any answer will do: zones are loaded before the sockets are read. */
export async function waitForAnswers(name: string, port: number, log: string): Promise<void> {
  const query = Buffer.from('00010000000100000000000004696e697404746573740000010001', 'hex');
  for (let attempt = 0; attempt < 600; attempt++) {
    const [answer] = await askAll(port, [query], 100, 1);
    if (answer) return;
    await sleep(50);
  }
  throw new Error(`${name} did not start: ${readFileSync(log, 'utf8').slice(-500)}`);
}

/** Questions in flight at once: few enough for any receive queue. */
const WINDOW = 100;

interface Flight {
  readonly index: number;
  readonly attempt: number;
  readonly until: number;
}

/**
 * Asks a server on 127.0.0.1 all queries over UDP, each under an identifier of its own, again when nothing comes back. The
 * answers stand in the order of the queries, undefined where none came.
 */
export async function askAll(
  port: number,
  queries: readonly Buffer[],
  timeoutMs = 1000,
  attempts = 3,
): Promise<(Buffer | undefined)[]> {
  const answers = new Array<Buffer | undefined>(queries.length);
  if (queries.length === 0) return answers;
  const socket = createSocket({ type: 'udp4', recvBufferSize: 1 << 21 });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const flights = new Map<number, Flight>();
  let identifier = 0;
  let next = 0;
  const send = (index: number, attempt: number): void => {
    identifier = (identifier + 1) & 0xffff;
    flights.set(identifier, { index, attempt, until: performance.now() + timeoutMs });
    const query = Buffer.from(queries[index]!);
    if (query.length >= 2) query.writeUInt16BE(identifier, 0);
    socket.send(query, port, '127.0.0.1');
  };
  const fill = (): void => {
    while (flights.size < WINDOW && next < queries.length) send(next++, 1);
  };
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      fill();
      if (flights.size > 0) return;
      clearInterval(timer);
      socket.close(resolve);
    };
    const timer = setInterval(
      () => {
        const now = performance.now();
        for (const [id, { index, attempt, until }] of [...flights]) {
          if (until > now) continue;
          flights.delete(id);
          if (attempt < attempts) send(index, attempt + 1);
        }
        settle();
      },
      Math.min(50, timeoutMs),
    );
    socket.on('message', (message) => {
      const id = message.length >= 2 ? message.readUInt16BE(0) : -1;
      const flight = flights.get(id);
      if (!flight) return;
      const query = queries[flight.index]!;
      flights.delete(id);
      // Back to the identifier of the query, so that answers of all servers compare.
      message.writeUInt16BE(query.readUInt16BE(0), 0);
      answers[flight.index] = message;
      settle();
    });
    fill();
  });
  return answers;
}

/** Asks over one TCP connection, all queries pipelined; answers matched by identifier. */
export function askAllByTcp(
  port: number,
  queries: readonly Buffer[],
  timeoutMs = 10_000,
): Promise<(Buffer | undefined)[]> {
  const answers = new Array<Buffer | undefined>(queries.length);
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received: Buffer = Buffer.alloc(0);
    let left = queries.length;
    let sent = 0;
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    const sendMore = (upTo: number): void => {
      for (; sent < Math.min(upTo, queries.length); sent++) {
        const query = Buffer.from(queries[sent]!);
        query.writeUInt16BE(sent & 0xffff, 0);
        const prefix = Buffer.alloc(2);
        prefix.writeUInt16BE(query.length);
        socket.write(Buffer.concat([prefix, query]));
      }
    };
    socket.on('connect', () => sendMore(WINDOW));
    // Some servers reset the connection over what they do not like; what came before that counts.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answers);
    });
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const message = Buffer.from(received.subarray(2, 2 + received.readUInt16BE(0)));
        received = received.subarray(2 + message.length);
        const index = message.readUInt16BE(0);
        message.writeUInt16BE(queries[index]!.readUInt16BE(0), 0);
        answers[index] = message;
        left--;
      }
      sendMore(queries.length - left + WINDOW);
      if (left === 0) socket.end();
    });
  });
}
