/** Bodies in pieces: reused memory has one user, slow readers hold little, and every kind of checksum finds damage. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { createServer, get as httpGet, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import t, { type Test } from 'tap';
import { type BodySum, checkBody } from '../../../src/bucket/bodies/checked-body.js';
import { gatherBody } from '../../../src/bucket/bodies/gathered-body.js';
import { inTurns, readPieces } from '../../../src/bucket/bodies/pieces.js';
import { sendPieces } from '../../../src/bucket/bodies/send-pieces.js';
import { until } from '../../support/until.js';

const OCTETS = 3_000_000;
const MUCH = 64 << 20;

async function fileOf(t: Test, text: string, octets = OCTETS): Promise<FileHandle> {
  const path = join(t.testdir({}), `body-${octets}`);
  writeFileSync(path, Buffer.alloc(octets, text));
  const file = await open(path);
  t.teardown(() => file.close());
  return file;
}

t.test('memory of a reader that ended early is not used again', async (t) => {
  const file = await fileOf(t, 'one ');
  const early = readPieces(file, 0, OCTETS - 1);
  const { value: kept } = await early.next();
  await early.return(undefined);
  const [others, seen] = [new Set<ArrayBufferLike>(), [] as AsyncGenerator<Buffer>[]];
  for (let i = 0; i < 3; i++) {
    const other = readPieces(file, 0, OCTETS - 1);
    seen.push(other);
    others.add(((await other.next()).value as Buffer).buffer);
  }
  t.equal(others.size, 3, 'readers at the same time have memory of their own');
  t.notOk(others.has((kept as Buffer).buffer));
  for (const other of seen) for await (const _ of other);
  const again = readPieces(file, 1, 2);
  t.ok(
    others.has(((await again.next()).value as Buffer).buffer),
    'the memory of a reader that read to the end is used again',
  );
});

t.test('a slow reader holds a few pieces, and a fast one beside it gets its own octets', async (t) => {
  const [fast, long] = [await fileOf(t, 'fast! '), await fileOf(t, '', 0)];
  await truncate(join(t.testdirName, 'body-0'), MUCH);
  let [over, asked] = [0, 0];
  let held = (): number => 0;
  const server = createServer((request, response) => {
    const isSlow = request.url === '/slow';
    const length = isSlow ? MUCH : OCTETS;
    response.writeHead(200, { 'content-length': length });
    if (isSlow) held = () => response.writableLength;
    const pieces = (async function* () {
      for await (const piece of readPieces(isSlow ? long : fast, 0, length - 1)) {
        if (isSlow) asked += piece.length;
        yield piece;
      }
    })();
    void sendPieces(pieces, response).then(() => over++);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const begin = async (path: string): Promise<IncomingMessage> => {
    const [answer] = await once(httpGet({ host: '127.0.0.1', port, path, agent: false }), 'response');
    return answer;
  };
  const slow = await begin('/slow');
  const read = async (answer: IncomingMessage): Promise<string> => {
    const hash = createHash('md5');
    for await (const piece of answer) hash.update(piece as Buffer);
    return hash.digest('hex');
  };
  const md5Of = (text: string): string => createHash('md5').update(Buffer.alloc(OCTETS, text)).digest('hex');
  for (let i = 0; i < 3; i++) t.equal(await read(await begin('/fast')), md5Of('fast! '));
  await until(() => over === 3, 'the fast ones are over');
  t.ok(asked < MUCH / 2, `the system holds what the slow one does not read, and we no more: ${asked} octets`);
  t.ok(held() < OCTETS, `${held()} octets wait to be written`);
  slow.destroy();
  await until(() => over === 4, 'one whose client has gone is over, too');
});

t.test('each piece has its turn, also the first one', async (t) => {
  const said: string[] = [];
  const pieces = (async function* () {
    for (const piece of ['ab', 'c']) {
      said.push(`read ${piece}`);
      yield Buffer.from(piece);
    }
  })();
  const turn = async (): Promise<void> => void said.push('turn');
  for await (const piece of inTurns(pieces, 3, turn)) said.push(`sent ${piece}`);
  t.strictSame(
    said,
    ['turn', 'read ab', 'sent ab', 'turn', 'read c', 'sent c'],
    'and nothing waits after the last one',
  );
});

t.test('a client that leaves is not waited for while the next piece does not come', async (t) => {
  let over = 0;
  let hasEnded = false;
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-length': MUCH });
    const pieces = (async function* () {
      try {
        yield Buffer.alloc(1000);
        await new Promise<void>(() => {});
      } finally {
        hasEnded = true;
      }
    })();
    void sendPieces(pieces, response).then(() => over++);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const [answer] = await once(httpGet({ host: '127.0.0.1', port, agent: false }), 'response');
  await once(answer, 'data');
  t.equal(over, 0);
  answer.destroy();
  await until(() => over === 1, 'it is over');
  t.notOk(hasEnded, 'although the source stalls');
});

t.test('changed octets are noticed before the last piece is sent', async (t) => {
  const body = Buffer.alloc(700_000, 'body ');
  const sums: Record<string, BodySum> = {
    'by CRC-32': { md5: Buffer.alloc(16), crc32: crc32(body) },
    'by MD5': { md5: createHash('md5').update(body).digest(), crc32: null },
  };
  for (const [name, sum] of Object.entries(sums)) {
    const read = async (octets: Buffer): Promise<number> => {
      let count = 0;
      const pieces = (async function* () {
        for (let at = 0; at < octets.length; at += 100_000) yield octets.subarray(at, at + 100_000);
      })();
      try {
        for await (const piece of checkBody(pieces, { length: body.length, sum, name })) count += piece.length;
      } catch (error) {
        t.match((error as Error).message, octets.length === body.length ? /not what was stored/ : /not whole/);
      }
      return count;
    };
    t.equal(await read(body), 700_000, name);
    for (const at of [0, 350_000, 699_999]) {
      const changed = Buffer.from(body);
      changed[at]! ^= 1;
      t.equal(await read(changed), 600_000, `${name}: octet ${at}`);
    }
    t.equal(await read(body.subarray(0, 650_000)), 650_000, `${name}: cut`);
    t.equal(await read(Buffer.concat([body, body])), 700_000, `${name}: longer`);
  }
});

t.test('bodies that come over the network at the same time', async (t) => {
  const server = createServer(async (request, response) => {
    const hash = createHash('md5');
    let before: Uint8Array = Buffer.alloc(1);
    for await (const piece of gatherBody(request)) {
      hash.update(piece);
      // Time for other bodies, and for octets that come meanwhile.
      await new Promise((resolve) => setImmediate(resolve));
      before = piece;
    }
    response.end(`${hash.digest('hex')} ${before.length <= 1 << 18}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const send = async (name: string, sizes: readonly number[]): Promise<void> => {
    const sent = httpRequest({ host: '127.0.0.1', port, method: 'PUT', agent: false });
    const hash = createHash('md5');
    for (const [i, size] of sizes.entries()) {
      const octets = Buffer.alloc(size, `${name}${i}`);
      hash.update(octets);
      if (!sent.write(octets)) await once(sent, 'drain');
    }
    sent.end();
    const [answer] = await once(sent, 'response');
    t.equal(String(Buffer.concat(await answer.toArray())), `${hash.digest('hex')} true`, name);
  };
  const large = [2_000_000, 1, 65_536, 300_000, 7];
  await Promise.all([send('a', large), send('b', large), send('c', [1]), send('d', []), send('e', [16_384, 16_384])]);
});

t.test('the octets of one turn are one piece', async (t) => {
  const source = new Readable({ read() {} });
  const body = gatherBody(source);
  const next = async (): Promise<string> => Buffer.from((await body.next()).value ?? '').toString();
  const first = next();
  source.push('a');
  source.push('b');
  t.equal(await first, 'ab');
  source.push('c'.repeat(300_000));
  t.equal((await next()).length, 300_000);
  source.push('d');
  source.push(null);
  t.strictSame([await next(), (await body.next()).done], ['d', true]);

  const stopped = new Readable({ read() {} });
  stopped.push('e');
  for await (const piece of gatherBody(stopped)) {
    t.equal(String(piece), 'e');
    break;
  }
  t.strictSame([stopped.destroyed, stopped.isPaused()], [false, true], 'ending early leaves it open');
  const failing = new Readable({ read() {} });
  const broken = gatherBody(failing).next();
  failing.destroy();
  await t.rejects(broken, { code: 'ECONNRESET' });
  const gone = new Readable({ read() {} });
  gone.destroy();
  await t.rejects(gatherBody(gone).next(), { code: 'ECONNRESET' });
});
