/** Loads of the edge's measurements: h2load, slow clients, single requests and WebSockets. */
import { spawn } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { HOST, type Ports, ZONE } from './edge-servers.js';

export interface Load {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  /** What requests say beside where they go: as much as a browser's, or next to nothing. */
  readonly head: 'browser' | 'bare';
  /** `h2` only over TLS. */
  readonly version: 'h1' | 'h2';
  readonly connections: number;
  /** Together. h2load's mode with a duration does not always end. */
  readonly requests: number;
  readonly cpu: number;
}

/** About what Chrome sends for a file of a page; some 750 octets. */
const BROWSER_HEAD: readonly string[] = [
  'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8',
  'Accept-Encoding: gzip, deflate, br, zstd',
  'Accept-Language: en-GB,en-US;q=0.9,en;q=0.8,de;q=0.7',
  `Referer: https://${HOST}/some/page/of/the/site?with=a&few=parameters`,
  'Sec-CH-UA: "Chromium";v="142", "Not_A Brand";v="99"',
  'Sec-Fetch-Dest: document',
  'Sec-Fetch-Mode: navigate',
  `Cookie: session=${'a1b2c3d4'.repeat(8)}; theme=dark; consent=all`,
];

/** A load that takes longer than that is a fault. */
const LONGEST_MS = 180_000;

export interface Loaded {
  readonly answered: number;
  readonly seconds: number;
}

/** Throws when a request fails. */
export async function load(ports: Ports, wanted: Load, more: readonly string[] = []): Promise<Loaded> {
  const { scheme, path, head, version, connections, requests, cpu } = wanted;
  const fields = head === 'bare' ? [] : BROWSER_HEAD.flatMap((field) => ['-H', field]);
  const protocol = version === 'h1' ? ['--h1'] : ['-m', '10', '--npn-list=h2'];
  const url = `${scheme}://${HOST}:${ports[scheme]}${path}`;
  const to = `--connect-to=127.0.0.1:${ports[scheme]}`;
  const args = [
    'h2load',
    '-c',
    String(connections),
    '-t',
    '1',
    '-n',
    String(requests),
    ...protocol,
    to,
    ...fields,
    ...more,
    url,
  ];
  const child = spawn('taskset', ['-c', String(cpu), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece));
  const status = await new Promise((resolve) => child.once('close', resolve));
  const [, finished] = /finished in ([\d.]+m?s)/.exec(text) ?? [];
  const [, answered] = /(\d+) 2xx/.exec(text) ?? [];
  const [, failed] = /(\d+) failed/.exec(text) ?? [];
  if (status !== 0 || finished === undefined || answered === undefined || Number(answered) === 0 || failed !== '0') {
    throw new Error(`h2load ${url}: ${text}`);
  }
  const seconds = Number.parseFloat(finished) / (finished.endsWith('ms') ? 1000 : 1);
  return { answered: Number(answered), seconds };
}

/** The 99th percentile of answer times in milliseconds. With few connections, the load itself does not wait. */
export async function tailOf(directory: string, ports: Ports, wanted: Load): Promise<number> {
  const file = join(directory, 'requests.tsv');
  rmSync(file, { force: true });
  await load(ports, wanted, [`--log-file=${file}`]);
  const micros = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => Number(line.split('\t')[2]))
    .sort((a, b) => a - b);
  return micros[Math.floor(micros.length * 0.99)]! / 1000;
}

/** Clients that send an octet of their request a second, and never end it. Call the returned function to end them. */
export async function startSlowClients(ports: Ports, count: number): Promise<() => void> {
  const sockets: Socket[] = [];
  const text = `GET /slow HTTP/1.1\r\nHost: ${HOST}\r\nX-Slow: ${'s'.repeat(4000)}`;
  for (let i = 0; i < count; i++) {
    // A third of them do not come further than the first octets of TLS.
    if (i % 3 === 0) {
      const socket = connect(ports.https, '127.0.0.1');
      await new Promise((resolve) => socket.once('connect', resolve));
      socket.write(Buffer.of(22, 3, 1));
      sockets.push(socket);
    } else sockets.push(await secure(ports, HOST));
  }
  for (const socket of sockets) socket.on('error', () => {});
  let at = 0;
  const timer = setInterval(() => {
    for (const [i, socket] of sockets.entries()) {
      if (!socket.writable) continue;
      socket.write(i % 3 === 0 ? Buffer.of(0) : text.slice(at, at + 1));
    }
    at += 1;
  }, 1000);
  return () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
}

function secure({ https: port }: Ports, servername: string, localAddress = '127.0.0.1'): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const plain = connect({ host: '127.0.0.1', port, localAddress });
    const socket = connectTls({ socket: plain, servername, rejectUnauthorized: false });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** One request over a connection of its own. Resolves with the octets that came back. */
export async function fetchOnce(ports: Ports, host: string, path: string): Promise<number> {
  const socket = await secure(ports, host);
  let octets = 0;
  socket.on('data', (piece: Buffer) => (octets += piece.length));
  const ended = new Promise<void>((resolve, reject) => {
    socket.once('close', () => resolve());
    socket.once('error', reject);
  });
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  await ended;
  return octets;
}

/** Opens a WebSocket from an address of this machine, and leaves it as it is. */
export async function openWebSocket(ports: Ports, address: string): Promise<Socket> {
  const host = `socket.${ZONE}`;
  const socket = await secure(ports, host, address);
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13';
  socket.write(
    `GET / HTTP/1.1\r\nHost: ${host}\r\n${upgrade}\r\nSec-WebSocket-Key: ${btoa('0123456789abcdef')}\r\n\r\n`,
  );
  const first = await new Promise<string>((resolve, reject) => {
    socket.once('data', (piece: Buffer) => resolve(piece.toString('latin1')));
    socket.once('close', () => reject(new Error('no WebSocket')));
  });
  if (!first.startsWith('HTTP/1.1 101')) throw new Error(`no WebSocket: ${first.slice(0, 200)}`);
  return socket;
}

export const FLOODS = ['rapid resets', 'endless fields'] as const;

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const [HEADERS, RST_STREAM, SETTINGS, CONTINUATION] = [1, 3, 4, 9];

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

function floodOf(kind: (typeof FLOODS)[number]): Buffer {
  // GET https://HOST/ in the static table of HPACK (RFC 7541 §A).
  const request = Buffer.concat([Buffer.of(0x82, 0x87, 0x84, 0x41, HOST.length), Buffer.from(HOST)]);
  const field = Buffer.concat([Buffer.of(0, 1, 0x61, 100), Buffer.alloc(100, 0x62)]);
  const frames =
    kind === 'rapid resets'
      ? Array.from({ length: 1000 }, (_, i) => [
          frame(HEADERS, 5, 2 * i + 1, request),
          frame(RST_STREAM, 0, 2 * i + 1, Buffer.of(0, 0, 0, 8)),
        ]).flat()
      : [frame(HEADERS, 0, 1, request), ...Array.from({ length: 5000 }, () => frame(CONTINUATION, 0, 1, field))];
  return Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0, Buffer.alloc(0)), ...frames]);
}

/** Clients that flood, and connect again when their connection was ended. Call the returned function to end them. */
export function startFlood({ https }: Ports, kind: (typeof FLOODS)[number], count: number): () => void {
  const octets = floodOf(kind);
  const sockets = new Set<TLSSocket>();
  let isOver = false;
  const begin = (): void => {
    if (isOver) return;
    const to = { host: '127.0.0.1', port: https, servername: HOST, rejectUnauthorized: false, ALPNProtocols: ['h2'] };
    const socket = connectTls(to);
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('secureConnect', () => socket.write(octets));
    socket.resume();
    socket.once('close', () => {
      sockets.delete(socket);
      setTimeout(begin, 1);
    });
  };
  for (let i = 0; i < count; i++) begin();
  return () => {
    isOver = true;
    for (const socket of sockets) socket.destroy();
  };
}
