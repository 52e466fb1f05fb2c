/**
 * No single request keeps all others waiting: a walk through all routes that read, and the requests that once stopped everybody, with
 * the worst parameters, on a zone with many records, an RRset of 3,400 and a bucket with many objects. `ZONEPLANE_TEST_LARGE=1`: with
 * 200,000 records and 100,000 objects.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/driver.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';

const KEY = 'long-turns-key-0123456789-0123456789-01234';
const isLarge = process.env['ZONEPLANE_TEST_LARGE'] !== undefined;
const RECORDS = isLarge ? 200_000 : 8000;
const OBJECTS = isLarge ? 100_000 : 5000;
const AT_ONE_NAME = 3400;
/** Operations of a batch, with `ZONEPLANE_TEST_LARGE` the most that it may have. */
const BATCH = isLarge ? 3500 : 600;
/** Load balancers of one pool, with `ZONEPLANE_TEST_LARGE` the most that it may have, and its origins. */
const BALANCERS = isLarge ? 1000 : 100;
const ORIGINS = 200;
const ZONE = 'large.test';

const ROUTES_AT_ONCE = 12;
/** How often something is tried that took long. */
const ATTEMPTS = 3;

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function send(program: Program, method: string, path: string, body?: unknown, type?: string): Promise<Reply> {
  const raw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(`${program.api}${path.startsWith('//') ? path.slice(1) : `/client/v4${path}`}`, {
    method,
    headers: { accept: 'application/json', authorization: `Bearer ${KEY}`, 'content-type': type ?? 'application/json' },
    ...(body !== undefined && { body: raw ? (body as string) : JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** Long turns so far, by process and by route or job; `other` has no name. */
async function longTurns(program: Program): Promise<Map<string, string>> {
  const { text } = await send(program, 'GET', '//metrics');
  const longest = new Map(
    [...text.matchAll(/^zoneplane_longest_turn_seconds\{process="(\w+",route="[^"]+)"\} (\S+)/gm)].map(
      ([, route, seconds]) => [route!, seconds!],
    ),
  );
  return new Map(
    [...text.matchAll(/^zoneplane_long_turns_total\{process="(\w+",route="[^"]+)"\} (\d+)/gm)].map(
      ([, route, count]) => [route!, `${count}, ${Math.round(Number(longest.get(route!)) * 1000)} ms`],
    ),
  );
}

/** A zone file with very different records, some with tags, comments and long texts. */
function zoneText(): string {
  const lines = ['@ 300 IN SOA ns1 admin 7 7200 3600 1209600 300', '@ 300 IN NS ns1', 'ns1 300 IN A 192.0.2.1'];
  const address = (i: number): string => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`;
  for (let i = 0; i < RECORDS; i++) {
    const tags = i % 3 === 0 ? ` ; note ${i} cf_tags=env:prod,team:t${i % 50},n:${i}` : '';
    if (i % 10 === 0) lines.push(`t${i} 300 IN TXT "${`text ${i} `.repeat(20)}"${tags}`);
    else if (i % 10 === 1) lines.push(`c${i} 300 IN CNAME h${i + 1}${tags}`);
    else if (i % 10 === 2) lines.push(`d${i} 300 IN NS ns.d${i}`, `ns.d${i} 300 IN A ${address(i)}`);
    else lines.push(`h${i} 300 IN A ${address(i)}${tags}`);
  }
  for (let i = 0; i < AT_ONE_NAME; i++) lines.push(`many 300 IN A ${address(i)}`);
  return `${lines.join('\n')}\n`;
}

function fillBucket(directory: string): void {
  const store = openStore(join(directory, 'data'));
  const bucket = store.prepareTuples<[], [number]>('SELECT seq FROM buckets').get()![0];
  const metadata = JSON.stringify({ long: 'x'.repeat(isLarge ? 200 : 2000) });
  store.alter((run) => {
    run(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${OBJECTS - 1})
      INSERT INTO objects (bucket, key, version, size, md5, storage_class, http_metadata, custom_metadata, metadata_size, uploaded_at)
      SELECT ${bucket}, 'g' || (i / 5) || '/' || i, i, 0, zeroblob(16), 'Standard', '{}', '${metadata}', 200, 0 FROM n`);
  });
  store.close();
}

const FORM = 'multipart/form-data; boundary=b';
const formOf = (text: string): string =>
  `--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n${text}\r\n--b--\r\n`;

const tagFilters = Array.from({ length: 100 }, (_, i) => `tag=env:prod${i}`).join('&');
const percent = '%25'.repeat(200);

/** Queries that once took long, by the end of the path. */
const WORST: Readonly<Record<string, readonly string[]>> = {
  dns_records: [
    tagFilters,
    `${tagFilters}&tag_match=any`,
    'per_page=50000',
    'per_page=50000&order=content&direction=desc',
    'search=47x11',
    'search=t+e+x+t+1+2+3+4+5+6',
    `content.contains=${percent}`,
    `search=${percent}`,
    'comment.contains=%C3%84&name.contains=9&match=any',
    'page=1000000000',
    'page=100&per_page=1000&order=ttl',
    'as_of=version:1',
    'include_shadow_metadata=true&per_page=1000&type=NS',
    'include_shadow_metadata=true&per_page=1000',
    'name=many.0large.test&per_page=50000',
    'content=10.0.0.1',
  ],
  objects: ['delimiter=/', 'delimiter=/&prefix=g', 'per_page=1000', 'start_after=g9', 'delimiter=%F4%8F%BF%BF'],
  zones: ['name.contains=a', 'page=1000000000', 'order=status&direction=desc', 'match=any&name.contains=x'],
};

const EVERYWHERE = ['', 'per_page=1000000&page=1', 'page=1000000000', `search=${percent}&name=${percent}`];

function worstReads(path: string): string[] {
  const queries = [...EVERYWHERE, ...(WORST[path.split('/').at(-1)!] ?? [])];
  return queries.map((query) => `${path}${query === '' ? '' : '?'}${query}`);
}

t.test('no request keeps all others waiting', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'long-turns-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const options = { directory, key: KEY };
  const first = await startProgram(options);
  const {
    result: [account],
  } = JSON.parse((await send(first, 'GET', '/accounts')).text);
  await send(first, 'POST', `/accounts/${account.id}/r2/buckets`, { name: 'large' });
  await stopProgram(first);
  fillBucket(directory);
  const program = await startProgram(options);
  t.teardown(() => stopProgram(program));
  const longTurnsOf = async (run: () => Promise<unknown>): Promise<Record<string, string>> => {
    const before = await longTurns(program);
    await run();
    const after = await longTurns(program);
    return Object.fromEntries([...after].filter(([route, told]) => before.get(route) !== told));
  };
  // A collection of garbage may fall into a turn, but hardly twice into the same one.
  const check = async (what: string, run: (attempt: number) => Promise<unknown>): Promise<void> => {
    let found: Record<string, string> = {};
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      found = await longTurnsOf(() => run(attempt));
      if (Object.keys(found).length === 0) break;
    }
    t.strictSame(found, {}, what);
  };
  // Into a walk of many requests, one falls each time.
  const checkReads = async (paths: readonly string[]): Promise<void> => {
    const requests = paths.flatMap(worstReads);
    const found = await longTurnsOf(async () => {
      for (const request of requests) await send(program, 'GET', request);
    });
    t.comment(`${paths.join(', ')}: ${JSON.stringify(found)}`);
    const again = Object.keys(found).length > 0 ? requests : [];
    for (const request of again) await check(`GET ${request}`, () => send(program, 'GET', request));
  };

  const file = zoneText();
  let zone = '';
  let balanced = '';
  let pool = '';
  await check('an import', async (attempt) => {
    const { text } = await send(program, 'POST', `/zones/import?name=${attempt}${ZONE}`, file, 'text/plain');
    const { result } = JSON.parse(text);
    t.equal(result.imported, true, JSON.stringify(result.issues?.slice(0, 3)));
    zone = result.id;
  });
  const records = `/zones/${zone}/dns_records`;
  const fill = (path: string): string =>
    path
      .replace('{zone_id}', zone)
      .replace('{account_id}', account.id)
      .replace('{bucket_name}', 'large')
      .replace(/\{[a-z_]+\}/g, '0'.repeat(32));
  let document: { readonly paths: Record<string, Record<string, unknown>> } = { paths: {} };
  await check('the OpenAPI document', async () => {
    document = JSON.parse((await send(program, 'GET', '//openapi.json')).text);
  });
  const reads = Object.entries(document.paths)
    .filter(([, operations]) => 'get' in operations)
    .map(([path]) => fill(path));
  t.ok(reads.length > 40, `${reads.length} routes`);
  for (let at = 0; at < reads.length; at += ROUTES_AT_ONCE) {
    const paths = reads.slice(at, at + ROUTES_AT_ONCE).map((path) => path.replace(/^\/client\/v4/, ''));
    await checkReads(paths);
  }
  await check('300 rules', async (attempt) => {
    const names = Array.from({ length: 6 }, (_, i) => `http.host eq "h${i}.large.test"`).join(' or ');
    const rules = Array.from({ length: 300 }, (_, i) => ({
      action: 'rewrite',
      expression: `${names} or (starts_with(http.request.uri.path, "/${i}/") and not ip.src in {192.0.2.0/24 2001:db8::/32})`,
      action_parameters: { uri: { path: { expression: `concat("/${attempt}", http.request.uri.path)` } } },
    }));
    const { status, text } = await send(
      program,
      'PUT',
      `/zones/${zone}/rulesets/phases/http_request_transform/entrypoint`,
      { rules },
    );
    t.equal(status, 200, text.slice(0, 300));
  });
  await check('origins of a pool that many load balancers use', async (attempt) => {
    const pools = `/accounts/${account.id}/load_balancers/pools`;
    const originsAt = (network: number): object[] =>
      Array.from({ length: ORIGINS }, (_, i) => ({ name: `o${i}`, address: `198.51.${network}.${i + 1}` }));
    if (attempt === 0) {
      const made = await send(program, 'POST', pools, { name: 'shared', origins: originsAt(100) });
      const { id } = JSON.parse(made.text).result;
      pool = id;
      balanced = JSON.parse((await send(program, 'POST', '/zones', { name: 'balanced.test' })).text).result.id;
      for (let i = 0; i < BALANCERS; i++) {
        const body = { name: `lb${i}.balanced.test`, default_pools: [id], fallback_pool: id };
        const { status, text } = await send(program, 'POST', `/zones/${balanced}/load_balancers`, body);
        if (status !== 200) t.fail(text.slice(0, 300));
      }
    }
    for (const network of [101, 102]) {
      const { status, text } = await send(program, 'PATCH', `${pools}/${pool}`, {
        origins: originsAt(network + attempt),
      });
      t.equal(status, 200, text.slice(0, 300));
    }
  });
  await check('export', () => send(program, 'GET', `${records}/export`));
  await check('dry run of an import', () =>
    send(program, 'POST', '/zones/import?name=dry.test&dry_run=true', file, 'text/plain'),
  );
  const series = Array.from({ length: 40 }, (_, i) => `$GENERATE 0-65535 g${i}-$ 300 IN A 192.0.2.1\n`).join('');
  await check('series', () =>
    send(program, 'POST', '/zones/import?name=series.test&automatic_soa', series, 'text/plain'),
  );
  await check('single edits at a large RRset', async () => {
    for (let i = 0; i < 5; i++) {
      const made = await send(program, 'POST', records, {
        type: 'A',
        name: 'many',
        content: `172.16.0.${i}`,
        ttl: 300,
      });
      t.equal(made.status, 200, made.text.slice(0, 200));
      const { id } = JSON.parse(made.text).result;
      await send(program, 'PATCH', `${records}/${id}`, { content: `172.16.1.${i}` });
      await send(program, 'DELETE', `${records}/${id}`);
    }
  });
  const posts = (prefix: string): object[] =>
    Array.from({ length: BATCH }, (_, i) => ({
      type: 'A',
      name: `${prefix}${i}`,
      content: '192.0.2.9',
      comment: 'x'.repeat(90),
    }));
  for (const [where, id] of Object.entries({ 'a large zone': zone, 'a zone of load balancers': balanced })) {
    await check(`a batch in ${where}`, async (attempt) => {
      const path = `/zones/${id}/dns_records/batch`;
      const { status } = await send(program, 'POST', path, { posts: posts(`b${attempt}-`) });
      t.equal(status, 200);
    });
    await check(`restorations of ${where}`, async (attempt) => {
      const history = await send(program, 'GET', `/zones/${id}/history?per_page=5`);
      const [, before] = JSON.parse(history.text).result;
      const { status, text } = await send(program, 'POST', `/zones/${id}/history/${before.id}/restore`);
      t.equal(status, 200, `${attempt}: ${text.slice(0, 200)}`);
    });
  }
  await check('dry run of a batch', () =>
    send(program, 'POST', `${records}/batch?dry_run=true`, { posts: posts('x') }),
  );
  await check('too many items', () =>
    send(program, 'POST', `${records}/batch`, { posts: Array.from({ length: 100_000 }, () => ({})) }),
  );
  await check('many faults', () =>
    send(program, 'POST', `${records}/batch`, { posts: Array.from({ length: 9_000 }, () => ({ ttl: 'x', tags: 7 })) }),
  );
  await check('a large text', () =>
    send(program, 'POST', `${records}/batch`, `{"posts":[{"content":"${'\\u0041'.repeat(1_300_000)}"}]}`),
  );
  await check('deep nesting', () => send(program, 'POST', records, `${'['.repeat(500_000)}`));
  await check('a form with a series', () => send(program, 'POST', `${records}/import`, formOf(series), FORM));
  await check('deletion', (attempt) => (attempt === 0 ? send(program, 'DELETE', `/zones/${zone}`) : Promise.resolve()));
});
