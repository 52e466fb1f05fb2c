/**
 * Random requests, half right and half wrong, to every operation in the OpenAPI document of the real program. Prints each
 * answer of 5xx, each that takes longer than five seconds or is cut off, and each line of the log that is an error or has a
 * stack; exits with 1 if there is one.
 *
 * `node build/test/by-hand/random-requests.js [REQUESTS [SEED]]`; last run on 2026-11-22 with 12,000 requests and seed 6: nothing found.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { seededRandom } from '../support/seeded-random.js';

const KEY = 'random-requests-0123456789abcdef0123456789';
const LONGEST_MS = 5_000;
const AT_ONCE = 8;

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly query: readonly { readonly name: string; readonly schema: Schema }[];
  readonly body: { readonly type: string; readonly schema: Schema } | undefined;
}

const [count = '20000', seed = '1'] = process.argv.slice(2);
const random = seededRandom(Number(seed));
/** A number from 0 up to, not including, `limit`. */
const below = (limit: number): number => {
  const [a, b, c] = random.bytes(3);
  return ((a! << 16) | (b! << 8) | c!) % limit;
};
const chance = (share: number): boolean => below(1_000) < share * 1_000;
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)]!;

/** What no route expects. */
const JUNK: readonly unknown[] = [
  ...[
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e99,
    2 ** 31,
    2 ** 53 + 2,
    '',
    '@',
    '.',
    '..',
    '*',
    '\0',
    '\uffff',
    '😀',
    'é',
    '%00',
  ],
  ...[
    '../x',
    '{}',
    "'; DROP TABLE zones;--",
    [],
    {},
    [[]],
    [null],
    [{}],
    { '': '' },
    'NaN',
    '-1',
    '1e3',
    '0x10',
    '\r\n',
    '"\\',
  ],
  ...[
    '\\000',
    '\\999',
    'a\\',
    '9999-12-31T23:59:59Z',
    '0000-00-00',
    '::1',
    '0.0.0.0/0',
    '*.random.test',
    'f'.repeat(32),
  ],
  ...['a'.repeat(300), 'a'.repeat(70_000), Array(1_000).fill(1), '$GENERATE 1-99999999 a A 192.0.2.1', '<a>', 'a.\\.b'],
];
const USUAL = [
  'www',
  '@',
  'a.random.test',
  'x.example.com',
  '192.0.2.7',
  '2001:db8::1',
  'random.test',
  'A',
  'TXT',
  'CNAME',
  'MX',
];

/** A value that roughly follows a schema. */
function sample(document: object, schema: Schema, depth = 0): unknown {
  const resolved = follow(document, schema);
  if (depth > 6 || chance(0.1)) return pick(JUNK);
  if (resolved.const !== undefined) return resolved.const;
  if (resolved.enum) return pick(resolved.enum);
  const choices = resolved.anyOf ?? resolved.oneOf;
  if (choices) return sample(document, pick(choices), depth);
  if (resolved.allOf) return Object.assign({}, ...resolved.allOf.map((part) => sample(document, part, depth + 1)));
  const type = typeof resolved.type === 'string' ? resolved.type : pick(resolved.type ?? ['string']);
  if (type === 'object') return objectOf(document, resolved, depth);
  if (type === 'array')
    return Array.from({ length: below(4) }, () => sample(document, resolved.items ?? {}, depth + 1));
  if (type === 'integer' || type === 'number')
    return pick([0, 1, 2, 60, 300, 3600, 86_400, 65_535, 65_536, -1, 255, 256]);
  if (type === 'boolean') return chance(0.5);
  return type === 'null' ? null : pick(USUAL);
}

function objectOf(document: object, { properties = {}, required = [] }: Schema, depth: number): object {
  const members = Object.entries(properties).filter(([name]) => chance(required.includes(name) ? 0.92 : 0.4));
  return Object.fromEntries(members.map(([name, schema]) => [name, sample(document, schema, depth + 1)]));
}

function follow(document: object, schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const steps = schema.$ref.split('/').slice(1);
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
  return (found ?? {}) as Schema;
}

// biome-ignore lint/suspicious/noExplicitAny: the document is read loosely, as any client would.
function operationsOf(document: any): Operation[] {
  return Object.entries<Record<string, Record<string, never>>>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Record<string, never>>(methods).map(([method, { parameters = [], requestBody }]) => {
      const [type, content] = Object.entries<{ schema?: Schema }>((requestBody as never)?.['content'] ?? {})[0] ?? [];
      const query = (parameters as { in: string; name: string; schema: Schema }[]).filter(
        (each) => each.in === 'query',
      );
      const body = type === undefined ? undefined : { type, schema: content?.schema ?? {} };
      return { method: method.toUpperCase(), path, query, body };
    }),
  );
}

/** Sends one request; returns what is wrong with the answer. */
async function send(program: Program, document: object, ids: ReadonlyMap<string, string>): Promise<string | undefined> {
  const { method, path, query, body } = pick(operationsOf(document));
  if (method === 'DELETE' && /\{(?:zone_id|bucket_name|token_id)\}$/.test(path)) return undefined;
  const place = path.replace(/\{([^}]+)\}/g, (_, name: string) =>
    encodeURIComponent(chance(0.06) ? textOf(pick(JUNK)) : (ids.get(name) ?? pick(['0'.repeat(32), 'x', '1']))),
  );
  const asked = query
    .filter(() => chance(0.3))
    .map(({ name, schema }) => `${encodeURIComponent(name)}=${encodeURIComponent(textOf(sample(document, schema)))}`);
  const url = new URL(`${program.api}${place}${asked.length > 0 ? `?${asked.join('&')}` : ''}`);
  const text = body && method !== 'GET' ? broken(JSON.stringify(sample(document, body.schema)) ?? 'null') : undefined;
  const headers = { authorization: `Bearer ${KEY}`, ...(text === undefined ? {} : { 'content-type': body!.type }) };
  const what = `${method} ${url.pathname.slice(0, 200)}${url.search.slice(0, 200)} ${text?.slice(0, 400) ?? ''}`;
  try {
    const response = await fetch(url, { method, headers, body: text ?? null, signal: AbortSignal.timeout(LONGEST_MS) });
    const answer = await response.text();
    return response.status >= 500 ? `${response.status} ${what}: ${answer.slice(0, 200)}` : undefined;
  } catch (error) {
    return `${what}: ${error}`;
  }
}

function textOf(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 3_000).toWellFormed();
}

/** Now and then another character somewhere. */
function broken(text: string): string {
  if (!chance(0.04)) return text;
  const at = below(text.length);
  return text.slice(0, at) + pick(['', '"', '}', '\\', '\0', '[[[', '1e999']) + text.slice(at + 1);
}

async function prepare({ api }: Program): Promise<Map<string, string>> {
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${KEY}` };
    const response = await fetch(`${api}/client/v4${path}`, {
      method,
      headers,
      body: body ? JSON.stringify(body) : null,
    });
    return ((await response.json()) as { result: never }).result;
  };
  const [account] = (await call('GET', '/accounts')) as { id: string }[];
  const zone: { id: string } = await call('POST', '/zones', { name: 'random.test' });
  const at = `/zones/${zone.id}`;
  const record: { id: string } = await call('POST', `${at}/dns_records`, {
    type: 'A',
    name: 'a',
    content: '192.0.2.1',
  });
  const hostname: { id: string } = await call('POST', `${at}/custom_hostnames`, { hostname: 'shop.customer.test' });
  await call('POST', `/accounts/${account!.id}/r2/buckets`, { name: 'random-bucket' });
  return new Map([
    ['zone_id', zone.id],
    ['account_id', account!.id],
    ['dns_record_id', record.id],
    ['custom_hostname_id', hostname.id],
    ['bucket_name', 'random-bucket'],
    ['object_key', 'key'],
    ['setting', 'ssl'],
  ]);
}

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-random-'));
const program = await startProgram({ directory, key: KEY });
const faults: string[] = [];
try {
  const document = (await (await fetch(`${program.api}/openapi.json`)).json()) as object;
  const ids = await prepare(program);
  let sent = 0;
  const work = async (): Promise<void> => {
    while (sent++ < Number(count)) {
      const fault = await send(program, document, ids);
      if (fault !== undefined) faults.push(fault);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  faults.push(
    ...program
      .printed()
      .split('\n')
      .filter((line) => /"level":"(?:error|fatal)"|"stack"|^\s+at /.test(line)),
  );
} finally {
  await stopProgram(program);
  rmSync(directory, { recursive: true, force: true });
}
for (const fault of faults) console.log(fault.slice(0, 1_000));
console.log(`${count} requests with seed ${seed}: ${faults.length} faults`);
process.exitCode = faults.length > 0 ? 1 : 0;
