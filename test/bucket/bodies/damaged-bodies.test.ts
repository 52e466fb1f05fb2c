/** Bodies that the disk has changed or cut: never wrong octets, never a response that hangs. The real program. */
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { checkBody } from '../../../src/bucket/bodies/checked-body.js';
import { filesBelow } from '../../support/backups.js';
import { spawnCommand } from '../../support/commands.js';
import { startProgram, stopProgram } from '../../support/program.js';
import { until } from '../../support/until.js';

const KEY = 'e2e-key-0123456789-0123456789-0123456789';
const SECRET = 'a secret of the application, long enough';

/** What a client gets; `octets` is undefined when the response broke off. */
interface Got {
  readonly status: number;
  readonly octets: Buffer | undefined;
}

t.test('over the application and the API', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-damaged-'));
  const keys = ['small', 'middle', 'large'];
  const program = await startProgram({
    directory,
    key: KEY,
    environment: { AUTH_KEY_SECRET: SECRET, ZONEPLANE_BUCKET_ALLOW_LIST: keys.join(',') },
  });
  const data = join(directory, 'data');
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const auth = { authorization: `Bearer ${KEY}` };
  const { result } = (await (await fetch(`${program.api}/client/v4/accounts`, { headers: auth })).json()) as {
    result: { id: string }[];
  };
  const places = [
    { url: (key: string) => `http://127.0.0.1:${program.bucketPort}/${key}`, headers: { 'x-custom-auth-key': SECRET } },
    {
      url: (key: string) => `${program.api}/client/v4/accounts/${result[0]!.id}/r2/buckets/my-bucket/objects/${key}`,
      headers: auth,
    },
  ];
  const get = async (place: number, key: string, range?: string): Promise<Got> => {
    const { url, headers } = places[place]!;
    const response = await fetch(url(key), { headers: { ...headers, ...(range !== undefined && { range }) } });
    const octets = await response.arrayBuffer().then(Buffer.from, () => undefined);
    return { status: response.status, octets };
  };
  const bodies: Record<string, Buffer> = {
    small: Buffer.from('a small body, in its row'),
    middle: Buffer.alloc(200_000, 'middle'),
    large: Buffer.alloc(3_000_000, 'large one '),
  };
  for (const key of keys) {
    const { url, headers } = places[0]!;
    t.equal((await fetch(url(key), { method: 'PUT', headers, body: bodies[key]! })).status, 200);
  }
  const fileOf = (size: number): string =>
    filesBelow(join(data, 'blobs')).find((path) => readFileSync(path).length === size)!;
  const [middle, large] = [fileOf(200_000), fileOf(3_000_000)];
  for (const place of [0, 1]) {
    for (const key of keys) t.ok((await get(place, key)).octets!.equals(bodies[key]!), `${key} is whole`);
    t.equal((await get(place, 'large', 'bytes=1000000-')).octets!.length, 2_000_000);
  }

  const flipped = (path: string, at: number): void => {
    const octets = readFileSync(path);
    octets[at]! ^= 4;
    writeFileSync(path, octets);
  };
  flipped(middle, 150_000);
  flipped(large, 10);
  for (const place of [0, 1]) {
    t.match(await get(place, 'middle'), { status: 500 }, 'a changed octet');
    t.equal((await get(place, 'middle', 'bytes=0-9')).status, 500, 'and a part of it');
    t.equal((await get(place, 'large')).octets, undefined, 'a response that cannot be refused any more breaks off');
  }
  t.match(await spawnCommand({ ZONEPLANE_DATA_DIR: data }, ['doctor', '--bodies']), {
    code: 1,
    out: /fail +objects +the bodies of 2 of 3 objects are damaged, such as that of (middle|large)/,
  });
  for (const [path, size, key] of [
    [middle, 100_000, 'middle'],
    [large, 1_500_000, 'large'],
  ] as const) {
    truncateSync(path, size);
    for (const place of [0, 1]) {
      t.match(await get(place, key), { status: 500 }, `${key} is cut`);
      t.match(await get(place, key, 'bytes=0-9'), { status: 500 });
    }
  }
  // SQLite's own copy of the page would hide it.
  await stopProgram(program);
  const database = join(data, 'zoneplane.db');
  flipped(database, readFileSync(database).indexOf('a small body, in its row'));
  const again = await startProgram({
    directory,
    key: KEY,
    environment: { AUTH_KEY_SECRET: SECRET, ZONEPLANE_BUCKET_ALLOW_LIST: keys.join(',') },
  });
  t.teardown(() => stopProgram(again));
  const response = await fetch(`http://127.0.0.1:${again.bucketPort}/small`, {
    headers: { 'x-custom-auth-key': SECRET },
  });
  t.equal(response.status, 500);
  await until(() => /body of object small .*(is not what was stored)/.test(again.printed()), 'the log says so');
  t.match(program.printed(), /body of object middle .*is not what was stored/);
  t.match(program.printed(), /body of object large .*is not whole/);
  t.match(program.printed(), /"incomplete":true/, 'and the access log says what was not sent to its end');
});

t.test('a body that is cut while it is sent', async (t) => {
  const read = async (size: number, whole = 10): Promise<string> => {
    const source = (async function* () {
      yield Buffer.alloc(size);
    })();
    try {
      let octets = 0;
      for await (const piece of checkBody(source, { length: whole, name: 'object x', sum: undefined })) {
        octets += piece.length;
      }
      return String(octets);
    } catch (error) {
      return (error as Error).message;
    }
  };
  t.equal(await read(10), '10');
  t.match(await read(9), /object x is not whole/);
  t.match(await read(11), /object x is not whole/);
});
