/**
 * Connections that die: random clients and random origins, which break off at random moments, against all listeners of the real
 * program. Reproducible by seed, apart from what the system does in between.
 */

import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { sleep } from '../../src/base/clock.js';
import { FRAME, FrameReader, frame, number, PREFACE, settings } from '../../src/edge/http2/frames.js';
import { BlockReader, writeBlock } from '../../src/edge/http2/hpack.js';
import { makeCertificate } from '../edge/fixture.js';
import { type Dice, throwDice } from './dice.js';

export const HOST = 'www.deaths.example';
export const HOST_H2 = 'www.deaths-h2.example';

/** Where clients can connect. */
export interface Place {
  readonly name: string;
  readonly port: number;
  readonly kind: 'http' | 'dns';
  readonly tls: boolean;
}

const HEADER_LINES = [
  ...['Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Expect: 100-continue\r\nContent-Length: 5\r\n'],
  ...[
    'Upgrade: h2c\r\nConnection: Upgrade\r\n',
    'Connection: close\r\n',
    'Content-Length: 99999999999\r\n',
    'X: \0\r\n',
  ],
  ...[
    'X: \x80\r\n',
    'A: b\rC: d\r\n',
    `${'X: y\r\n'.repeat(150)}`,
    `X: ${'y'.repeat(20_000)}\r\n`,
    'TE: trailers\r\n',
    '',
  ],
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'CONNECT', 'TRACE', 'PURGE', 'get', 'PRI'];
const BODIES = [
  '',
  'hello',
  '5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nX: y\r\n\r\n',
  'zzz\r\n',
  '\x1f\x8b\x08garbage',
];
const GARBAGE = [
  'PROXY TCP4 1.1.1.1 2.2.2.2 1 2\r\n',
  '\r\n\r\n',
  '\0\0\0\0',
  PREFACE.toString('latin1'),
  '\x16\x03\x01\xff\xff',
];

/** What an origin sends after the head of a request; `~` stands for a reset, `|` for an end. */
const ANSWERS: readonly string[] = [
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf~',
  'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf|',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzzz\r\n',
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nETag: a\r\nETag: b\r\n__proto__: c\r\nContent-Length: 9\r\n\r\n',
  'HTTP/1.1 200 OK\r\nETag: "a"\r\nETag: "b"\r\nConstructor: x\r\n__proto__: y\r\nContent-Length: 2\r\n\r\nok',
  'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 7\r\n\r\n\x1f\x8bnogzip',
  'HTTP/1.1 200 OK\r\nX: \0\r\n\r\n|',
  'HTTP/1.1 200 OK\r\nX: a\rb\r\nContent-Length: 0\r\n\r\n',
  `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(500)}Content-Length: 0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(70_000)}\r\n\r\n`,
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n~',
  `${'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(200)}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`,
  ...['000', '001', '099', '100', '199', '204', '304', '600', '999', '20', 'abc'].map(
    (status) => `HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nok`,
  ),
  'HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\nuntil the end|',
  'HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nContent-Length: 9\r\n\r\nha~',
  'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore',
  'nonsense',
  '',
  '~',
  '|',
];

function answer(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  socket.write(Buffer.from(text.replace(/[~|]$/, ''), 'latin1'));
  if (text.endsWith('~'))
    socket instanceof Object && 'encrypted' in socket ? socket.destroy() : socket.resetAndDestroy();
  if (text.endsWith('|')) socket.end();
}

/** The number in the path chooses the answer. */
const pathOf = (dice: Dice): string => `/${dice.below(ANSWERS.length)}${dice.pick(['', '.css', '?q'])}`;
const numberIn = (path: string): number => Number(/^\/(\d+)/.exec(path)?.[1] ?? 0) % ANSWERS.length;

export interface Origins {
  readonly plainPort: number;
  readonly tlsPort: number;
  close(): void;
}

/** One origin without TLS, and one with HTTP/2. */
export async function startOrigins(seed: number): Promise<Origins> {
  const dice = throwDice(seed);
  const open = new Set<Socket>();
  const keep = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  };
  const plain = createServer((socket) => {
    keep(socket);
    socket.on('data', (octets) => {
      for (const [, path] of octets.toString('latin1').matchAll(/^[A-Z]+ (\S+) HTTP\/1/gm)) {
        setTimeout(() => answer(socket, ANSWERS[numberIn(path!)]!), dice.below(4));
      }
    });
  });
  const { certificate: cert, key } = makeCertificate(['origin.test']);
  const secure = createTlsServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    keep(socket);
    serveHttp2(socket, dice);
  });
  secure.on('tlsClientError', () => {});
  const listen = async (server: Server): Promise<number> => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  };
  return {
    plainPort: await listen(plain),
    tlsPort: await listen(secure),
    close() {
      for (const socket of open) socket.destroy();
      plain.close();
      secure.close();
    },
  };
}

function serveHttp2(socket: TLSSocket, dice: Dice): void {
  const blocks = new BlockReader({ listOctets: 1e6, fields: 1000 });
  const ok = (stream: number, flags: number): Buffer =>
    frame(FRAME.headers, 4 | flags, stream, writeBlock([':status', '200'], false));
  const acts: readonly ((stream: number) => void)[] = [
    (stream) => socket.write(ok(stream, 1)),
    (stream) => socket.write(Buffer.concat([ok(stream, 0), frame(FRAME.data, 1, stream, Buffer.from('ok'))])),
    (stream) => socket.write(frame(FRAME.reset, 0, stream, number(dice.below(14)))),
    (stream) => socket.write(Buffer.concat([ok(stream, 0), frame(FRAME.reset, 0, stream, number(dice.below(14)))])),
    (stream) => socket.write(frame(FRAME.goAway, 0, 0, number(dice.below(stream + 1)), number(dice.below(14)))),
    (stream) => socket.write(Buffer.concat(Array.from({ length: 2000 }, () => frame(FRAME.data, 0, stream)))),
    () => socket.write(Buffer.concat(Array.from({ length: 2000 }, () => settings([])))),
    () => socket.write(Buffer.from('nonsense that is not a frame at all')),
    () => socket.destroy(),
    () => socket.end(),
    () => {},
  ];
  let toSkip = PREFACE.length;
  const reader = new FrameReader(({ type, stream, payload }) => {
    if (type !== FRAME.headers || socket.destroyed) return;
    const fields = blocks.read(payload) ?? [];
    const path = fields[fields.indexOf(':path') + 1] ?? '/0';
    // Ordinary requests have the first number.
    const act = path === '/0' ? acts[1]! : acts[numberIn(path) % acts.length]!;
    setTimeout(() => socket.destroyed || act(stream), dice.below(4));
  });
  socket.write(settings(dice.below(8) === 0 ? [[4, 0]] : []));
  socket.on('data', (octets: Buffer) => {
    const skipped = Math.min(toSkip, octets.length);
    toSkip -= skipped;
    try {
      reader.feed(octets.subarray(skipped));
    } catch {
      socket.destroy();
    }
  });
}

function http1Octets(dice: Dice, host: string): Buffer {
  const request = (): string =>
    `${dice.pick(METHODS)} ${dice.pick([pathOf(dice), pathOf(dice), '*', 'a:1', '//', `/${'x'.repeat(9000)}`])} HTTP/${dice.pick(['1.1', '1.1', '1.1', '1.0', '9.9'])}\r\nHost: ${host}\r\n${dice.pick(HEADER_LINES)}${dice.pick(HEADER_LINES)}\r\n${dice.pick(BODIES)}`;
  const text = dice.below(8) === 0 ? dice.pick(GARBAGE) : Array.from({ length: 1 + dice.below(3) }, request).join('');
  return Buffer.from(text, 'latin1');
}

function http2Octets(dice: Dice, host: string): Buffer {
  const parts = [PREFACE, settings(dice.below(5) === 0 ? [[4, 0]] : [])];
  let last = -1;
  const head = (flags: number): Buffer => {
    last += 2;
    const method = dice.pick(['GET', 'POST', 'HEAD', 'PUT', 'CONNECT']);
    const fields = [':method', method, ':scheme', 'https', ':authority', host, ':path', pathOf(dice)];
    if (method === 'CONNECT') fields.push(':protocol', dice.pick(['websocket', 'other']));
    const more = dice.pick([
      [],
      ['expect', '100-continue'],
      ['content-length', '5'],
      ['x', 'y'.repeat(9000)],
      ['X', 'z'],
    ]);
    return frame(FRAME.headers, 4 | flags, last, writeBlock([...fields, ...more], false));
  };
  const on = (): number => Math.max(1, last - 2 * dice.below(3));
  const kinds: readonly (() => Buffer)[] = [
    () => head(1),
    () => head(0),
    () => frame(FRAME.data, 0, on(), Buffer.alloc(dice.pick([0, 1, 5, 16_000]))),
    () => frame(FRAME.data, 1, on(), Buffer.from('last')),
    () => frame(FRAME.reset, 0, on(), number(dice.below(14))),
    // The end and the reset in one packet.
    () => Buffer.concat([frame(FRAME.data, 1, on(), Buffer.from('x')), frame(FRAME.reset, 0, on(), number(8))]),
    () => frame(FRAME.goAway, 0, 0, number(0), number(dice.below(14))),
    () => frame(FRAME.ping, 0, 0, Buffer.alloc(8)),
    () => frame(FRAME.windowUpdate, 0, dice.pick([0, on()]), number(dice.pick([0, 1, 2 ** 31 - 1]))),
    () => frame(FRAME.priority, 0, on(), Buffer.from([0, 0, 0, 0, 1])),
    () => frame(FRAME.continuation, 4, on(), Buffer.alloc(3)),
    () => frame(FRAME.headers, 5, on(), writeBlock(['x-trailer', 'y'], false)),
    () => frame(dice.below(20), dice.below(256), on(), Buffer.alloc(dice.below(20))),
    () => Buffer.concat(Array.from({ length: 1500 }, () => dice.pick([settings([]), frame(FRAME.data, 0, on())]))),
  ];
  for (let i = 1 + dice.below(8); i > 0; i--) parts.push(i % 2 ? head(dice.below(2)) : dice.pick(kinds)());
  return Buffer.concat(parts);
}

function dnsOctets(dice: Dice): Buffer {
  const query = Buffer.from('0001010000010000000000000377777706646561746873076578616d706c650000010001', 'hex');
  const message = Buffer.concat([Buffer.from([0, query.length]), query]);
  const parts = Array.from({ length: 1 + dice.below(5) }, () =>
    dice.pick([message, message, Buffer.from([255, 255, 1, 2]), Buffer.from([0, 0]), Buffer.from([0, 3, 1, 2, 3])]),
  );
  return Buffer.concat(parts);
}

/** One client that connects, sends some of what it has in some pieces, and breaks off in some way. */
async function runCase(places: readonly Place[], seed: number): Promise<string> {
  const dice = throwDice(seed);
  const place = dice.pick(places);
  const host = dice.pick([HOST, HOST, HOST_H2, 'nobody.example']);
  const isHttp2 = place.tls && place.kind === 'http' && dice.below(3) > 0;
  const octets = place.kind === 'dns' ? dnsOctets(dice) : isHttp2 ? http2Octets(dice, host) : http1Octets(dice, host);
  const ending = dice.pick(['reset', 'reset', 'end', 'silence', 'unread', 'wait'] as const);
  const raw = connect({ port: place.port, host: '127.0.0.1', allowHalfOpen: true });
  raw.on('error', () => {});
  let socket: Socket = raw;
  const early = dice.below(20) === 0;
  if (place.tls && !early) {
    const alpn = isHttp2 ? ['h2'] : dice.pick([['http/1.1'], ['dot'], ['nonsense'], undefined]);
    const servername = host === 'nobody.example' ? HOST : host;
    socket = connectTls({ socket: raw, servername, rejectUnauthorized: false, ...(alpn && { ALPNProtocols: alpn }) });
    socket.on('error', () => {});
    await Promise.race([once(socket, 'secureConnect').catch(() => {}), once(raw, 'close'), sleep(3000)]);
  } else await Promise.race([once(raw, 'connect').catch(() => {}), once(raw, 'close'), sleep(3000)]);
  if (ending === 'unread') socket.pause();
  else socket.resume();
  const upTo = dice.below(3) === 0 ? dice.below(octets.length + 1) : octets.length;
  const piece = dice.pick([1, 7, 100, 5000, 1e6].filter((size) => upTo / size < 60));
  for (let at = 0; at < upTo && !socket.destroyed && !raw.destroyed; at += piece) {
    socket.write(octets.subarray(at, Math.min(at + piece, upTo)));
    if (dice.below(3) === 0) await sleep(dice.below(4));
  }
  await sleep(dice.pick([0, 0, 1, 3, 10, 30]));
  if (ending === 'reset') raw.resetAndDestroy();
  else if (ending === 'end') socket.end();
  if (ending !== 'reset') await Promise.race([once(raw, 'close').catch(() => {}), sleep(ending === 'wait' ? 300 : 60)]);
  socket.destroy();
  raw.destroy();
  return `${seed} ${place.name} ${isHttp2 ? 'h2' : place.kind} ${ending}`;
}

/** Runs cases, `atOnce` at a time. */
export async function runCases(places: readonly Place[], first: number, count: number, atOnce = 16): Promise<void> {
  let next = first;
  const work = async (): Promise<void> => {
    while (next < first + count) await runCase(places, next++);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** What a process holds. */
export interface Holding {
  readonly descriptors: number;
  /** Octets. */
  readonly memory: number;
}

export function holdingOf(pid: number): Holding {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, memory: pages * 4096 };
}
