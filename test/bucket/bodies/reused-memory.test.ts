/**
 * Octets of one body in another: many bodies are sent and received at the same time, over TLS and without it, by clients that are slow or
 * die in the middle, with files that end early and stores that give up. Every octet says whose it is and where it belongs.
 */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import t from 'tap';
import { createBlobsIn } from '../../../src/bucket/blobs.js';
import { checkBody } from '../../../src/bucket/bodies/checked-body.js';
import { gatherBody } from '../../../src/bucket/bodies/gathered-body.js';
import { sendPieces } from '../../../src/bucket/bodies/send-pieces.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../../server/tls-credentials.js';
import { seededRandom } from '../../support/seeded-random.js';

const SIZE = 600_000;
const OWNERS = 4;
const ROUNDS = 3;

/** A body in which each word names its owner and its place. */
function bodyOf(owner: number): Buffer {
  const words = new Uint32Array(SIZE / 4);
  for (let i = 0; i < words.length; i++) words[i] = owner * 2 ** 24 + i;
  return Buffer.from(words.buffer);
}

t.test('every body has its own octets', async (t) => {
  const random = seededRandom(7);
  const dice = (sides: number): number => random.bytes(1)[0]! % sides;
  const bodies = Array.from({ length: OWNERS }, (_, owner) => bodyOf(owner));
  const root = t.testdir({});
  const blobs = createBlobsIn(root, random);
  const names: string[] = [];
  for (const body of bodies) {
    const draft = await blobs.draft();
    await draft.write(body);
    await draft.publish();
    names.push(draft.name);
  }
  const short = await blobs.draft();
  await short.write(bodies[0]!);
  await short.publish();
  writeFileSync(blobs.pathOf(short.name), bodies[0]!.subarray(0, 300_000));

  let failures = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method === 'GET') {
      const owner = Number(request.url!.slice(1));
      const reader = (await blobs.open(owner < OWNERS ? names[owner]! : short.name))!;
      response.writeHead(200, { 'content-length': SIZE });
      const checked = checkBody(reader.pieces(0, SIZE - 1), { length: SIZE, sum: undefined, name: 'a body' });
      await sendPieces(checked, response).catch(() => response.destroy());
      await reader.close();
      return;
    }
    const draft = await blobs.draft();
    try {
      for await (const piece of gatherBody(request)) {
        await draft.write(piece);
        if (request.url === '/refused') throw new Error('refused');
      }
      await draft.publish();
      const found = readFileSync(blobs.pathOf(draft.name));
      response.end(String(bodies.findIndex((body) => body.equals(found))));
    } catch {
      failures++;
      await draft.discard();
      response.destroy();
    }
  };
  const servers = [
    createServer((...exchange) => void answer(...exchange)),
    createSecureServer({ cert: TLS_CERTIFICATE, key: TLS_KEY }, (...exchange) => void answer(...exchange)),
  ];
  for (const server of servers) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    t.teardown(() => server.close().closeAllConnections());
  }
  const open = async (way: number): Promise<Socket> => {
    const { port } = servers[way]!.address() as AddressInfo;
    const socket = way === 0 ? connect(port, '127.0.0.1') : connectSecurely({ port, rejectUnauthorized: false });
    await once(socket, way === 0 ? 'connect' : 'secureConnect');
    return socket.on('error', () => {});
  };
  /** The octets of two answers to requests that are sent together, or those that come until the client has had enough of them. */
  const read = async (way: number, owner: number, enough: number): Promise<void> => {
    const socket = await open(way);
    const ask = (of: number): string => `GET /${of} HTTP/1.1\r\nHost: a\r\n\r\n`;
    const second = (owner + 1) % OWNERS;
    socket.write(ask(owner) + ask(second));
    const pieces: Buffer[] = [];
    let octets = 0;
    for await (const piece of socket as AsyncIterable<Buffer>) {
      pieces.push(piece);
      octets += piece.length;
      if (octets >= enough) break;
      // A slow reader.
      if (dice(8) === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
    socket.destroy();
    let rest = Buffer.concat(pieces);
    for (const of of [owner, second]) {
      const end = rest.indexOf('\r\n\r\n') + 4;
      if (end < 4) break;
      const body = rest.subarray(end, end + SIZE);
      t.ok((bodies[of] ?? bodies[0])!.subarray(0, body.length).equals(body), `${body.length} octets of ${of}`);
      rest = rest.subarray(end + SIZE);
    }
  };
  const write = async (way: number, owner: number, enough: number, path = '/'): Promise<void> => {
    const socket = await open(way);
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${SIZE}\r\nConnection: close\r\n\r\n`);
    socket.write(bodies[owner]!.subarray(0, enough));
    if (enough < SIZE) setImmediate(() => socket.destroy());
    const got = Buffer.concat(await socket.toArray().catch(() => [])).toString();
    if (enough >= SIZE && path === '/')
      t.match(got, new RegExp(`\r\n\r\n${owner}$`), `the body of ${owner} was stored`);
  };
  const all = 2 * SIZE + 200;
  for (let round = 0; round < ROUNDS; round++) {
    const way = round % 2;
    await Promise.all([
      ...bodies.map((_, owner) => read(way, owner, owner === round % OWNERS ? 1 + dice(9) * 60_000 : all)),
      ...bodies.map((_, owner) => write(way, owner, owner === round % OWNERS ? 1 + dice(8) * 60_000 : SIZE)),
      read(1 - way, OWNERS, all),
      write(1 - way, 1, SIZE, '/refused'),
    ]);
  }
  t.ok(failures >= ROUNDS, 'some bodies ended early or were refused');
});
