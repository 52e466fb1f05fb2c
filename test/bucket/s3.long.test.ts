/**
 * Large bodies on S3 that has faults: what was acknowledged is there, what was refused leaves the object as it was.
 *
 * Seen failing on 2026-11-22 with one piece of the handling taken out each time: «breaks off» without continuing a response;
 * «has taken a body, and has none» without the look after an upload; «only after a moment» with one look; «completion is lost»
 * without asking whether the body is there; «a moment of failures» with one attempt; «stays for an hour» without the delay.
 */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { createBlobs } from '../../src/bucket/blobs.js';
import { combineBlobs, moveBodies } from '../../src/bucket/bodies/combined-blobs.js';
import { createLocalStore } from '../../src/bucket/local-store.js';
import { parseS3Address } from '../../src/bucket/s3/address.js';
import { createS3Blobs, requireS3 } from '../../src/bucket/s3/s3-blobs.js';
import type { UploadingStore } from '../../src/bucket/uploads/uploads.js';
import { insertAccount } from '../../src/store/access/accounts.js';
import type { Store } from '../../src/store/driver.js';
import { OutcomeUnknown } from '../../src/store/failures.js';
import { insertBucket } from '../../src/store/objects/buckets.js';
import { startS3, type TestS3 } from '../support/s3.js';
import { openTwoCopies } from '../support/two-copies.js';
import { until } from '../support/until.js';

const clock = new SystemClock();
const LIMITS = { connectMs: 5000, silenceMs: 20_000, attempts: 3 };
/** For tests in which S3 does not answer at all. */
const IMPATIENT = { connectMs: 1000, silenceMs: 1000, attempts: 2 };
const body = (octets: number): Buffer => Buffer.alloc(octets, 'body of an object, ');
const options = { httpMetadata: {}, limit: 64 << 20 };

interface Room {
  readonly s3: TestS3;
  readonly store: Store;
  readonly directory: string;
  readonly objects: UploadingStore;
  put(key: string, octets: Buffer): Promise<unknown>;
  get(key: string): Promise<Buffer>;
}

/** `timeOfS3`: what S3 says when it is asked; absent: it is asked. */
async function makeRoom(t: Test, now = clock, limits = LIMITS, timeOfS3?: () => number): Promise<Room> {
  const s3 = await startS3(t);
  const { store, directory, close } = openTwoCopies('s3', clock, systemRandom);
  await store.write(() => {
    const account = insertAccount(store, { id: new Uint8Array(16), name: 'a', type: 'standard', created_at: 1 });
    const about = { jurisdiction: 'default', name: 'abc', location: null, storage_class: 'Standard' } as const;
    insertBucket(store, { account, created_at: 1, ...about });
  });
  const real = createS3Blobs({ address: s3.address, random: systemRandom, log: silentLogger(), limits });
  const blobs = { ...real, ...(timeOfS3 && { nowMs: async () => timeOfS3() }) };
  const isShared = true;
  const objects = createLocalStore({ store, clock: now, random: systemRandom, log: silentLogger(), isShared, blobs });
  t.teardown(async () => {
    await blobs.close();
    await close();
  });
  return {
    ...{ s3, store, directory, objects },
    put: (key, octets) => objects.put(1, key, inPieces(octets), options),
    async get(key) {
      const found = await objects.open(1, key, 'test');
      if (!found) throw new Error('there is no such object');
      const pieces: Buffer[] = [];
      for await (const piece of found.read()) pieces.push(Buffer.from(piece as Buffer));
      await found.close();
      return Buffer.concat(pieces);
    },
  };
}

async function* inPieces(octets: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < octets.length; at += 1 << 20) yield octets.subarray(at, at + (1 << 20));
}

const away = { status: 503, message: /cannot be reached/ };

t.test('the address', async (t) => {
  t.same(parseS3Address('s3://bodies/a/b?endpoint=http://127.0.0.1:9000&region=eu-1'), {
    ...{ bucket: 'bodies', prefix: 'a/b/', endpoint: 'http://127.0.0.1:9000', region: 'eu-1', pathStyle: true },
  });
  t.same(parseS3Address('s3://bodies'), {
    ...{ bucket: 'bodies', prefix: '', endpoint: undefined, region: 'us-east-1', pathStyle: false },
  });
  for (const [address, reason] of [
    ['s3://key:secret@bodies', /holds credentials/],
    ['s3://Bodies_/x', /not the name of a bucket/],
    ['s3://bodies?endpont=http://x', /endpont is not known/],
    ['s3://bodies?endpoint=ftp://x', /endpoint is not an origin/],
    ['s3://bodies?path-style=yes', /neither true nor false/],
    ['s3://bodies?region=a&region=b', /twice/],
    ['s3://bodies#x', /means nothing/],
    ['https://bodies', /does not begin with s3/],
  ] as const) {
    t.throws(() => parseS3Address(address), { name: 'UserError', message: reason }, address);
  }
});

t.test('small bodies are rows, larger ones are on S3, in parts when they are large', async (t) => {
  const { s3, put, get, objects } = await makeRoom(t);
  await put('small', body(4096));
  t.same(s3.bodies(), []);
  await put('large', body(4097));
  t.equal(s3.bodies().length, 1);
  const huge = body((20 << 20) + 5);
  await put('huge', huge);
  t.equal(s3.requests.filter((request) => /partNumber=\d/.test(request)).length, 3);
  for (const [key, octets] of [
    ['small', body(4096)],
    ['large', body(4097)],
    ['huge', huge],
  ] as const) {
    t.ok((await get(key)).equals(octets), key);
  }
  const opened = await objects.open(1, 'huge', 'test');
  const part = await opened!.read(9 << 20, (9 << 20) + 9).toArray();
  t.equal(Buffer.concat(part as Buffer[]).toString(), huge.subarray(9 << 20, (9 << 20) + 10).toString());
  const stream = opened!.read();
  await new Promise((resolve) => stream.once('data', resolve));
  await opened!.close();
  await until(() => stream.destroyed, 'what nobody reads any more is not fetched');
  t.equal(objects.openCount(), 0);
});

t.test('a cluster without S3 takes small bodies only', async (t) => {
  const { store } = await makeRoom(t);
  const objects = createLocalStore({ store, clock, random: systemRandom, log: silentLogger(), isShared: true });
  await objects.put(1, 'most', Readable.from([body(65_536)]), options);
  await t.rejects(objects.put(1, 'large', Readable.from([body(65_537)]), options), {
    status: 413,
    message: /at most 65536 octets/,
  });
  t.equal(objects.find(1, 'large'), undefined);
});

t.test('writing, when S3 fails', async (t) => {
  const room = await makeRoom(t);
  await room.put('a', body(10_000));
  const unchanged = async (t: Test): Promise<void> => {
    room.s3.setFaults(() => undefined);
    t.ok((await room.get('a')).equals(body(10_000)), 'the object is as it was');
  };

  t.test('a moment of failures is not seen', async (t) => {
    for (const fault of ['fails', 'cut before', 'lost'] as const) {
      let failures = 0;
      room.s3.setFaults((method) => (method === 'PUT' && failures++ < 1 ? fault : undefined));
      await room.put(fault, body(20_000));
      t.ok(failures > 1, 'it was tried again');
      t.ok((await room.get(fault)).equals(body(20_000)), fault);
    }
    await unchanged(t);
  });
  for (const fault of ['fails', 'cut before'] as const) {
    t.test(`every attempt ${fault}`, async (t) => {
      room.s3.setFaults((method) => (method === 'PUT' ? fault : undefined));
      await t.rejects(room.put('a', body(20_000)), away);
      await unchanged(t);
    });
  }
  t.test('it says that it has taken a body, and has none', async (t) => {
    room.s3.setFaults((method) => (method === 'HEAD' ? 'missing' : undefined));
    await t.rejects(room.put('a', body(20_000)), away);
    await unchanged(t);
  });
  t.test('a body that it shows only after a moment is there', async (t) => {
    let looks = 0;
    room.s3.setFaults((method) => (method === 'HEAD' && looks++ < 2 ? 'missing' : undefined));
    await room.put('late', body(20_000));
    looks = 0;
    t.ok((await room.get('late')).equals(body(20_000)));
  });
  t.test('the answer to the completion of a large body is lost', async (t) => {
    let isLost = false;
    room.s3.setFaults((method, url) => {
      if (isLost || method !== 'POST' || !url.includes('uploadId=')) return undefined;
      isLost = true;
      return 'lost';
    });
    await room.put('huge', body(9 << 20));
    t.ok(isLost);
    t.equal((await room.get('huge')).length, 9 << 20);
  });
  t.test('what was refused leaves nothing on S3', async (t) => {
    await unchanged(t);
    const before = room.s3.bodies().length;
    const broken = async function* (): AsyncGenerator<Buffer> {
      yield body(9 << 20);
      throw Object.assign(new Error('gone'), { code: 'ECONNRESET' });
    };
    await t.rejects(room.objects.put(1, 'a', broken(), options), { status: 400, message: /ended before/ });
    t.equal(room.s3.bodies().length, before);
    await unchanged(t);
  });
});

t.test('whether the row was stored is not known: the body stays', async (t) => {
  const { s3, store, objects, get } = await makeRoom(t);
  const real = store.write;
  const write = async <T>(work: () => T): Promise<T> => {
    await real(work);
    throw new OutcomeUnknown('the answer was lost');
  };
  Object.assign(store, { write });
  await t.rejects(objects.put(1, 'a', inPieces(body(10_000)), options), { name: 'OutcomeUnknown' });
  Object.assign(store, { write: real });
  t.equal((await get('a')).length, 10_000, 'the row was stored, and has its body');
  t.equal(s3.bodies().length, 1);
});

t.test('reading, when S3 fails', async (t) => {
  const { s3, put, get } = await makeRoom(t);
  const octets = body(500_000);
  await put('a', octets);
  t.test('a response that breaks off is continued', async (t) => {
    s3.setFaults((method) => (method === 'GET' ? 'cut' : undefined));
    t.ok((await get('a')).equals(octets));
  });
  t.test('without an answer', async (t) => {
    for (const fault of ['fails', 'cut before'] as const) {
      s3.setFaults(() => fault);
      await t.rejects(get('a'), away, `it cannot be opened: ${fault}`);
      s3.setFaults((method) => (method === 'GET' ? fault : undefined));
      await t.rejects(get('a'), away, `its octets do not come: ${fault}`);
    }
    await t.rejects(
      requireS3({ address: `${s3.address}`, random: systemRandom, log: silentLogger(), limits: LIMITS }).then(() => {
        s3.setFaults(() => 'fails');
        return requireS3({ address: s3.address, random: systemRandom, log: silentLogger(), limits: LIMITS });
      }),
      { name: 'UserError', message: /bucket bodies on S3 cannot be used/ },
    );
    s3.setFaults(() => undefined);
    t.ok((await get('a')).equals(octets));
  });
});

t.test('S3 does not answer at all', async (t) => {
  const { s3, put, get } = await makeRoom(t, clock, IMPATIENT);
  await put('a', body(10_000));
  for (const method of ['PUT', 'HEAD', 'GET']) {
    s3.setFaults((asked) => (asked === method ? 'slow' : undefined));
    await t.rejects(method === 'PUT' ? put('a', body(20_000)) : get('a'), away, method);
  }
  s3.setFaults(() => undefined);
  t.ok((await get('a')).equals(body(10_000)), 'the object is as it was');
});

t.test('whoever closes an object does not wait for S3', async (t) => {
  const { s3, put, objects } = await makeRoom(t);
  const limit = 1 << 20;
  await put('a', body(limit));
  const place = { bucket: 1, key: 'parts', id: await objects.uploads.create(1, 'parts', options) };
  const { etag } = await objects.uploads.putPart(place, 1, Readable.from([body(limit)]), { limit });
  await objects.uploads.complete(place, [{ number: 1, etag }], { limit, *compose() {} } as never);
  for (const key of ['a', 'parts']) {
    const opened = await objects.open(1, key, 'test');
    let asked = 0;
    s3.setFaults((method) => (method !== 'GET' ? undefined : asked++ === 0 ? 'cut' : 'slow'));
    const reading = (async () => {
      for await (const _ of opened!.pieces(0, limit - 1));
    })();
    await until(() => asked === 2, 'S3 stalls');
    await opened!.close();
    await t.rejects(reading, { name: 'AbortError' }, key);
    t.equal(asked, 2, 'nor is it asked again');
    t.equal(objects.openCount(), 0);
    s3.setFaults(() => undefined);
  }
});

t.test('a replaced body stays for an hour, and what crashes left for a day', async (t) => {
  // The clock of this node is days ahead: only that of S3 counts.
  const ahead = Object.assign(Object.create(clock) as SystemClock, { nowMs: () => clock.nowMs() + 3 * 86_400_000 });
  let nowMs = clock.nowMs();
  const { s3, put, get, objects } = await makeRoom(t, ahead, LIMITS, () => nowMs);
  await put('a', body(5000));
  const opened = await objects.open(1, 'a', 'test');
  await put('a', body(6000));
  await objects.sweep();
  t.equal(s3.bodies().length, 2);
  t.equal(
    (await opened!.read().toArray()).reduce((sum: number, piece: Buffer) => sum + piece.length, 0),
    5000,
  );
  nowMs += 3_599_000;
  await objects.sweep();
  t.equal(s3.bodies().length, 2);
  nowMs += 2000;
  await objects.sweep();
  t.equal(s3.bodies().length, 1);
  const blobs = createS3Blobs({ address: s3.address, random: systemRandom, log: silentLogger(), limits: LIMITS });
  t.teardown(() => blobs.close());
  const orphan = await blobs.draft();
  await orphan.write(body(10));
  await orphan.publish();
  await objects.sweep();
  t.equal(s3.bodies().length, 2, 'it may belong to an upload of another node');
  nowMs += 86_400_000;
  await objects.sweep();
  t.equal(s3.bodies().length, 1);
  t.equal((await get('a')).length, 6000);
  const later = Date.UTC(2030, 0, 1);
  s3.setTime(later);
  t.equal(await blobs.nowMs(clock), later, 'S3 is asked for the time');
  s3.setTime(undefined);
  await t.rejects(blobs.nowMs(clock), away, 'without a time nothing is old');
});

t.test('abandoned uploads are aborted, on all pages of the list, also when one is gone already', async (t) => {
  const { s3, objects } = await makeRoom(t);
  const page = (uploads: string, more: string): string =>
    `<ListMultipartUploadsResult>${more}${[...uploads]
      .map(
        (id) =>
          `<Upload><Key>test/${id}</Key><UploadId>${id}</UploadId><Initiated>2020-01-01T00:00:00Z</Initiated></Upload>`,
      )
      .join('')}</ListMultipartUploadsResult>`;
  s3.setFaults((method, url) => {
    if (method === 'DELETE' && url.includes('uploadId=a')) {
      return { status: 404, xml: '<Error><Code>NoSuchUpload</Code></Error>' };
    }
    if (method === 'DELETE') return { status: 204, xml: '' };
    if (!/[?&]uploads/.test(url)) return undefined;
    const more = '<IsTruncated>true</IsTruncated><NextKeyMarker>b</NextKeyMarker>';
    return { status: 200, xml: url.includes('key-marker=b') ? page('c', '') : page('ab', more) };
  });
  await objects.sweep();
  const aborted = s3.requests.flatMap((request) => /^DELETE .*uploadId=(\w)/.exec(request)?.[1] ?? []);
  t.strictSame(aborted, ['a', 'b', 'c']);
});

t.test('bodies that are files are read, and moved', async (t) => {
  const { s3, store, directory, get } = await makeRoom(t);
  const local = createLocalStore({ store, clock, random: systemRandom, log: silentLogger() });
  for (const key of ['f1', 'f2']) await local.put(1, key, Readable.from([body(100_000)]), options);
  const files = createBlobs(directory, systemRandom);
  const shared = createS3Blobs({ address: s3.address, random: systemRandom, log: silentLogger(), limits: LIMITS });
  t.teardown(() => shared.close());
  const both = createLocalStore({
    ...{ store, clock, random: systemRandom, log: silentLogger(), isShared: true },
    blobs: combineBlobs(files, shared),
  });
  const found = await both.open(1, 'f1', 'test');
  t.equal((await found!.read().toArray()).length > 0, true, 'a file is read');
  s3.setFaults((method) => (method === 'PUT' ? 'fails' : undefined));
  await t.rejects(moveBodies(store, files, shared), away);
  s3.setFaults(() => undefined);
  t.equal(await moveBodies(store, files, shared), 2);
  t.equal(await moveBodies(store, files, shared), 0);
  t.equal(s3.bodies().length, 2);
  t.equal((await get('f2')).length, 100_000);
});
