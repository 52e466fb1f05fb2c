/**
 * Random requests through all doors of a bucket - the application, v4, the S3 API, a custom domain - beside a model that is a map:
 * whichever door stored an object, all read the same octets, tags, parts and refusals. Once with bodies in files and once on S3.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { secretAccessKeyOf } from '../../src/control/access/secret-access-keys.js';
import { freePort } from '../support/free-ports.js';
import { startProgram, stopProgram } from '../support/program.js';
import { S3_ENVIRONMENT, startS3 } from '../support/s3.js';
import { type S3Answer, sendRaw, sendSigned } from '../support/s3-door.js';
import { seededRandom } from '../support/seeded-random.js';
import { until } from '../support/until.js';

const ROUNDS = Number(process.env['ZONEPLANE_DOORS_ROUNDS'] ?? 6);
const SEED = Number(process.env['ZONEPLANE_DOORS_SEED'] ?? 20_261_126);
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const SECRET = 'a-secret';
const HOST = 'objects.shop.test';
/** Keys that all doors name alike. */
const KEYS = ['a', 'a/b', 'a/b/c', 'd-e', 'f_1/g', 'z'];
const SIZES = [0, 1, 1000, 65_536, 65_537, 300_000];
const PART = 5 << 20;

type Fields = Record<string, string>;

interface Stored {
  readonly octets: Buffer;
  readonly etag: string;
  readonly type: string;
}

interface Doors {
  readonly writers: readonly string[];
  send(door: string, method: string, key: string, fields?: Fields, body?: Buffer): Promise<S3Answer>;
  /** A request of S3 with a query, or of the bucket. */
  s3(method: string, path: string, fields?: Fields, body?: Buffer | string): Promise<S3Answer>;
  list(prefix: string): Promise<string[]>;
  /** Sets rules of the bucket by v4. */
  setRules(kind: 'lock' | 'lifecycle', rules: readonly object[]): Promise<void>;
}

async function open(t: Test, more: Fields): Promise<Doors> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-doors-'));
  const [s3Port, edgePort, edgeTlsPort] = [await freePort(), await freePort(), await freePort()];
  const environment = {
    ...{ AUTH_KEY_SECRET: SECRET, ZONEPLANE_BUCKET_ALLOW_LIST: KEYS.join(','), ZONEPLANE_LOG_LEVEL: 'info' },
    ...{
      ZONEPLANE_S3: 'on',
      ZONEPLANE_S3_PORT: String(s3Port),
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
    },
    ...{ ZONEPLANE_EDGE_HTTP_PORT: String(edgePort), ZONEPLANE_EDGE_HTTPS_PORT: String(edgeTlsPort) },
    ...{ ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80', ...more },
  };
  const program = await startProgram({ directory, key: KEY, environment });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const { adminPort, bucketPort } = program;
  const bearer = { authorization: `Bearer ${KEY}` };
  const call = async (method: string, path: string, body?: object) => {
    const type = { 'content-type': 'application/json' };
    const sent = { method, headers: { ...bearer, ...(body && type) }, ...(body && { body: JSON.stringify(body) }) };
    const { result, errors } = (await (await fetch(`${program.api}/client/v4${path}`, sent)).json()) as {
      // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
      readonly result: any;
      readonly errors: unknown;
    };
    if (result === null) throw new Error(`${method} ${path}: ${JSON.stringify(errors)}`);
    return result;
  };
  const account = (await call('GET', '/accounts'))[0].id as string;
  const { id: zoneId } = await call('POST', '/zones', { name: 'shop.test', account: { id: account } });
  // The first bucket was made and bound for the secret.
  const bucket = (await call('GET', `/accounts/${account}/r2/buckets`)).buckets[0].name as string;
  await call('POST', `/accounts/${account}/r2/buckets/${bucket}/domains/custom`, {
    domain: HOST,
    zoneId,
    enabled: true,
  });
  const groups = (await call('GET', '/user/tokens/permission_groups')) as { id: string; name: string }[];
  const group = groups.find(({ name }) => name === 'Workers R2 Storage Write')!;
  const policy = {
    ...{ effect: 'allow', permission_groups: [{ id: group.id }] },
    resources: { [`com.cloudflare.api.account.${account}`]: '*' },
  };
  const { id, value } = await call('POST', '/user/tokens', { name: 's3', policies: [policy] });
  const credentials = { accessKeyId: id as string, secretAccessKey: secretAccessKeyOf(value) };
  const objects = `/client/v4/accounts/${account}/r2/buckets/${bucket}/objects`;
  const raw = (port: number, method: string, path: string, headers: Fields, body: Buffer = Buffer.alloc(0)) =>
    sendRaw(port, { method, path, headers, body });
  const s3: Doors['s3'] = (method, path, headers = {}, body = '') =>
    sendSigned(s3Port, credentials, method, `/${bucket}${path}`, { headers, body });
  const doors: Doors = {
    writers: ['application', 'v4', 'S3'],
    s3,
    send(door, method, key, fields = {}, body) {
      if (door === 'application')
        return raw(bucketPort, method, `/${key}`, { ...fields, 'x-custom-auth-key': SECRET }, body);
      if (door === 'v4')
        return raw(adminPort, method, `${objects}/${encodeURIComponent(key)}`, { ...fields, ...bearer }, body);
      if (door === 'S3') return s3(method, `/${key}`, fields, body);
      return raw(edgePort, method, `/${key}`, { ...fields, host: HOST });
    },
    async setRules(kind, rules) {
      const path = `${objects.replace(/objects$/, kind)}`;
      const body = Buffer.from(JSON.stringify({ rules }));
      const { status, text } = await raw(
        adminPort,
        'PUT',
        path,
        { ...bearer, 'content-type': 'application/json' },
        body,
      );
      if (status !== 200) throw new Error(text);
    },
    async list(prefix) {
      const search = new URLSearchParams({ prefix, per_page: '3' });
      const keys: string[] = [];
      for (;;) {
        const answer = await raw(adminPort, 'GET', `${objects}?${search}`, bearer);
        const { result, result_info: info } = JSON.parse(answer.text);
        keys.push(...result.map(({ key }: { key: string }) => key));
        if (!info?.cursor) return keys;
        search.set('cursor', info.cursor);
      }
    },
  };
  await until(async () => (await doors.send('domain', 'GET', 'a')).text.includes('Object Not Found'), 'the edge');
  return doors;
}

const md5 = (octets: Uint8Array): Buffer => createHash('md5').update(octets).digest();

/** What a GET must be answered with, by RFC 9110 §13.2.2 and §14.2. */
function expectedOf(stored: Stored | undefined, fields: Fields) {
  if (!stored) return { status: 404 };
  const { octets, etag } = stored;
  const names = (field: string): boolean => field === '*' || field.includes(`"${etag}"`);
  if (fields['if-match'] !== undefined && !names(fields['if-match'])) return { status: 412 };
  if (fields['if-none-match'] !== undefined && names(fields['if-none-match'])) return { status: 304, body: '' };
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(fields['range'] ?? '') ?? [];
  if (from === undefined)
    return { status: 200, body: md5(octets).toString('hex'), etag: `"${etag}"`, type: stored.type };
  const first = from === '' ? Math.max(0, octets.length - Number(to)) : Number(from);
  const last = from === '' || to === '' ? octets.length - 1 : Math.min(Number(to), octets.length - 1);
  if (first >= octets.length || (from === '' && Number(to) === 0)) return { status: 416 };
  const range = `bytes ${first}-${last}/${octets.length}`;
  return { status: 206, body: md5(octets.subarray(first, last + 1)).toString('hex'), etag: `"${etag}"`, range };
}

function shownOf({ status, octets, headers }: S3Answer) {
  if (status >= 400) return { status };
  if (status === 304) return { status, body: octets.toString() };
  const shown = { status, body: md5(octets).toString('hex'), etag: headers.etag };
  return status === 206 ? { ...shown, range: headers['content-range'] } : { ...shown, type: headers['content-type'] };
}

/** Whether a condition lets a write pass. */
function mayWrite(stored: Stored | undefined, fields: Fields): boolean {
  const { 'if-match': match, 'if-none-match': none } = fields;
  if (match !== undefined) return stored !== undefined && match.includes(stored.etag);
  return none === undefined || (none === '*' ? !stored : !stored || !none.includes(stored.etag));
}

class Story {
  private readonly random = seededRandom(SEED);
  readonly model = new Map<string, Stored>();
  /** Beginnings of keys whose objects are locked, and of those that expire. */
  private locked: string | undefined;
  private expiring: string | undefined;
  readonly told: string[] = [];

  constructor(
    private readonly t: Test,
    private readonly doors: Doors,
  ) {}

  private number(below: number): number {
    const [a, b, c] = this.random.bytes(3);
    return ((a! << 16) | (b! << 8) | c!) % below;
  }

  private pick<Item>(list: readonly Item[]): Item {
    return list[this.number(list.length)]!;
  }

  private octets(size: number): Buffer {
    const [seed, step] = this.random.bytes(2);
    return Buffer.from(Uint8Array.from({ length: size }, (_, i) => seed! + i * (step! | 1) + (i >> 8)));
  }

  private condition(key: string): Fields {
    const etag = this.model.get(key)?.etag ?? '0'.repeat(32);
    const other = { 'if-match': `"${'1'.repeat(32)}"` };
    const choices: readonly Fields[] = [{}, {}, {}, { 'if-none-match': '*' }, { 'if-match': `"${etag}"` }, other];
    return this.pick(choices);
  }

  async step(): Promise<void> {
    const choice = this.number(24);
    if (choice < 9) await this.put();
    else if (choice < 12) await this.remove();
    else if (choice < 15) await this.copy();
    else if (choice < 16) await this.upload();
    else if (choice < 18) await this.list();
    else if (choice < 20) await this.removeMany();
    else if (choice < 21) await this.race();
    else if (choice < 23) await this.setRules();
    await this.readAll();
  }

  private async put(): Promise<void> {
    const [door, key] = [this.pick(this.doors.writers), this.pick(KEYS)];
    const [octets, type] = [this.octets(this.pick(SIZES)), this.pick(['text/plain', 'image/png'])];
    const condition = this.condition(key);
    this.told.push(`put ${door} ${key} ${octets.length} ${JSON.stringify(condition)}`);
    const passes = mayWrite(this.model.get(key), condition);
    const { status, text } = await this.doors.send(door, 'PUT', key, { ...condition, 'content-type': type }, octets);
    const expected = !passes ? 412 : this.isLocked(key) ? 403 : 200;
    this.t.equal(status, expected, `${this.told.at(-1)}: ${text.slice(0, 200)}`);
    if (expected === 200) this.model.set(key, { octets, type, etag: md5(octets).toString('hex') });
  }

  private isLocked(key: string): boolean {
    return this.model.has(key) && this.locked !== undefined && key.startsWith(this.locked);
  }

  private async setRules(): Promise<void> {
    this.locked = this.pick([undefined, undefined, 'a/', 'd', 'z']);
    this.expiring = this.pick([undefined, 'a', 'f_']);
    this.told.push(`lock ${this.locked}, expire ${this.expiring}`);
    const rule = { id: 'one', enabled: true };
    const lock = { ...rule, prefix: this.locked, condition: { type: 'Indefinite' } };
    await this.doors.setRules('lock', this.locked === undefined ? [] : [lock]);
    const conditions = { prefix: this.expiring };
    const expiry = { ...rule, conditions, deleteObjectsTransition: { condition: { type: 'Age', maxAge: 86_400 } } };
    await this.doors.setRules('lifecycle', this.expiring === undefined ? [] : [expiry]);
  }

  /** Of all that write at once where nothing is, one may. */
  private async race(): Promise<void> {
    const key = this.pick(KEYS);
    if (this.model.has(key)) return;
    this.told.push(`race for ${key}`);
    const bodies = Array.from({ length: 64 }, (_, i) => this.octets(this.pick(SIZES.slice(0, 5)) + i));
    const send = (octets: Buffer, i: number): Promise<S3Answer> =>
      this.doors.send(this.doors.writers[i % this.doors.writers.length]!, 'PUT', key, { 'if-none-match': '*' }, octets);
    const statuses = (await Promise.all(bodies.map(send))).map(({ status }) => status);
    const winners = bodies.filter((_, i) => statuses[i] === 200);
    this.t.equal(winners.length, 1, `exactly one wins: ${statuses}`);
    this.t.ok(statuses.every((status) => status === 200 || status === 412));
    const { headers } = await this.doors.send('S3', 'HEAD', key);
    this.model.set(key, {
      octets: winners[0]!,
      etag: md5(winners[0]!).toString('hex'),
      type: headers['content-type']!,
    });
  }

  private async removeMany(): Promise<void> {
    const keys = [this.pick(KEYS), this.pick(KEYS), 'none'];
    this.told.push(`delete many ${keys}`);
    const document = `<Delete>${keys.map((key) => `<Object><Key>${key}</Key></Object>`).join('')}</Delete>`;
    const { text } = await this.doors.s3(
      'POST',
      '?delete=',
      { 'content-md5': md5(Buffer.from(document)).toString('base64') },
      document,
    );
    const named = (tag: string): string[] =>
      [...text.matchAll(new RegExp(`<${tag}><Key>([^<]*)`, 'g'))].map(([, key]) => key!);
    const refused = keys.filter((key) => this.isLocked(key));
    this.t.strictSame(named('Error'), refused, this.told.at(-1)!);
    this.t.strictSame(
      named('Deleted'),
      keys.filter((key) => !refused.includes(key)),
    );
    for (const key of named('Deleted')) this.model.delete(key);
  }

  private async remove(): Promise<void> {
    const [door, key] = [this.pick(this.doors.writers), this.pick(KEYS)];
    const condition: Fields = door === 'S3' ? this.pick([{}, { 'if-match': `"${'1'.repeat(32)}"` }]) : {};
    this.told.push(`delete ${door} ${key} ${JSON.stringify(condition)}`);
    const { status } = await this.doors.send(door, 'DELETE', key, condition);
    const fails = condition['if-match'] !== undefined && this.model.has(key);
    if (fails || this.isLocked(key)) {
      this.t.equal(status, fails ? 412 : 403, this.told.at(-1)!);
      return;
    }
    this.t.ok(status === 200 || status === 204, `${this.told.at(-1)}: ${status}`);
    this.model.delete(key);
  }

  private async copy(): Promise<void> {
    const [source, key] = [this.pick(KEYS), this.pick(KEYS)];
    if (source === key) return;
    this.told.push(`copy ${source} ${key}`);
    const found = this.model.get(source);
    const { text } = await this.doors.s3('GET', '?location');
    this.t.match(text, /LocationConstraint/);
    const { status } = await this.doors.s3('PUT', `/${key}`, { 'x-amz-copy-source': `${this.bucket}/${source}` });
    const expected = !found ? 404 : this.isLocked(key) ? 403 : 200;
    this.t.equal(status, expected, this.told.at(-1)!);
    if (found && expected === 200) this.model.set(key, { ...found, etag: md5(found.octets).toString('hex') });
  }

  /** Two parts, the second of them from an object where there is one. */
  private async upload(): Promise<void> {
    const [key, source] = [this.pick(KEYS), this.pick(KEYS)];
    const from = this.model.get(source);
    this.told.push(`upload ${key}, second part from ${from && source}`);
    const parts = [this.octets(PART), from ? from.octets : this.octets(1000)];
    const begun = await this.doors.s3('POST', `/${key}?uploads`, { 'content-type': 'video/mp4' });
    const id = /<UploadId>([^<]+)/.exec(begun.text)![1]!;
    const place = (number: number): string => `/${key}?partNumber=${number}&uploadId=${id}`;
    await this.doors.s3('PUT', place(1), {}, parts[0]);
    const isCopied = from !== undefined && from.octets.length > 0;
    const copied: Fields = isCopied ? { 'x-amz-copy-source': `${this.bucket}/${source}` } : {};
    const second = await this.doors.s3('PUT', place(2), copied, isCopied ? '' : parts[1]);
    this.t.equal(second.status, 200, second.text);
    const tags = parts.map(md5);
    const named = tags.map(
      (tag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>${tag.toString('hex')}</ETag></Part>`,
    );
    const document = `<CompleteMultipartUpload>${named.join('')}</CompleteMultipartUpload>`;
    const done = await this.doors.s3('POST', `/${key}?uploadId=${id}`, {}, document);
    this.t.equal(done.status, this.isLocked(key) ? 403 : 200, done.text);
    if (done.status !== 200) return;
    const etag = `${md5(Buffer.concat(tags)).toString('hex')}-2`;
    this.model.set(key, { octets: Buffer.concat(parts), etag, type: 'video/mp4' });
  }

  private async list(): Promise<void> {
    const prefix = this.pick(['', 'a', 'a/', 'a/b', 'x']);
    const expected = [...this.model.keys()].filter((key) => key.startsWith(prefix)).sort();
    this.t.strictSame(await this.doors.list(prefix), expected, `v4 lists ${prefix}`);
    const { text } = await this.doors.s3('GET', `?list-type=2&prefix=${encodeURIComponent(prefix)}`);
    const keys = [...text.matchAll(/<Key>([^<]*)/g)].map(([, key]) => key);
    this.t.strictSame(keys, expected, `S3 lists ${prefix}`);
  }

  /** One key through every door, in one way. */
  private async readAll(): Promise<void> {
    const key = this.pick(KEYS);
    const stored = this.model.get(key);
    const size = stored?.octets.length ?? 10;
    const [a, b] = [this.number(size + 2), this.number(size + 2)];
    const across = `bytes=${PART - 10}-${PART + 10}`;
    // A custom domain may answer a range of all with all (RFC 9110 §14.2).
    const ranges = [`bytes=${Math.min(a, b)}-${Math.max(a, b)}`, `bytes=${a + 1}-`, `bytes=-${b}`, across];
    const tag = `"${stored?.etag ?? 'none'}"`;
    const fields = this.pick<Fields>([
      ...[{}, { range: this.pick(ranges) }, { range: this.pick(ranges), 'if-match': tag }],
      ...[{ 'if-none-match': tag }, { 'if-match': '"other"' }],
    ]);
    const expected = expectedOf(stored, fields);
    for (const door of [...this.doors.writers, 'domain']) {
      const shown = shownOf(await this.doors.send(door, 'GET', key, fields));
      const what = `GET ${key} ${JSON.stringify(fields)} by ${door} after ${this.told.slice(-4).join('; ')}`;
      this.t.strictSame(shown, expected, what);
      if (door === 'application' || stored === undefined) continue;
      const head = await this.doors.send(door, 'HEAD', key);
      const { 'content-length': length, etag } = head.headers;
      this.t.strictSame([head.status, length, etag], [200, String(size), tag], `HEAD by ${door}`);
      if (door !== 'S3') continue;
      const expires = this.expiring !== undefined && key.startsWith(this.expiring);
      this.t.equal(head.headers['x-amz-expiration'] !== undefined, expires, `${key} expires`);
    }
  }

  readonly bucket = 'my-bucket';
}

async function tell(t: Test, more: Fields): Promise<void> {
  const story = new Story(t, await open(t, more));
  for (let round = 0; round < ROUNDS && t.passing(); round++) await story.step();
  t.comment(`${story.told.length} writes, seed ${SEED}`);
}

t.test('with bodies in files', (t) => tell(t, {}));

t.test('with bodies on S3', async (t) => {
  const s3 = await startS3(t);
  await tell(t, { ...S3_ENVIRONMENT, ZONEPLANE_OBJECTS: s3.address });
});
