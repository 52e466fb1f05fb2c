/** Members and values that are called like members of every JavaScript object are names like others. */
import t from 'tap';
import { install } from './installation.js';

const NAMES = ['toString', 'constructor', '__proto__', 'hasOwnProperty', 'valueOf'];
const ABSENT = '0123456789abcdef0123456789abcdef';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

/** Bodies for a schema with one odd name or value each, as JSON; `wrap` puts a value into its place. */
function* oddBodies(
  schema: Schema,
  resolve: (schema: Schema) => Schema,
  wrap: (json: string) => string,
  depth = 0,
): Generator<string> {
  const { properties = {}, items, anyOf = [], oneOf = [], allOf = [] } = resolve(schema);
  for (const name of NAMES) {
    for (const value of ['{}', '"x"']) yield wrap(`{"${name}":${value}}`);
    yield wrap(`"${name}"`);
  }
  if (depth === 3) return;
  for (const [name, inner] of Object.entries(properties)) {
    yield* oddBodies(inner, resolve, (json) => wrap(`{${JSON.stringify(name)}:${json}}`), depth + 1);
  }
  if (items) yield* oddBodies(items, resolve, (json) => wrap(`[${json}]`), depth + 1);
  for (const one of [...anyOf, ...oneOf, ...allOf]) yield* oddBodies(one, resolve, wrap, depth + 1);
}

t.test('no body with such a name is an error of the server', async (t) => {
  const { app, call, createZone } = await install(t);
  const zone = await createZone('mine.test');
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  await call('POST', `/accounts/${account}/r2/buckets`, { name: 'assets' });
  const document = (await app.inject('/openapi.json')).json();
  const resolve = (schema: Schema): Schema =>
    schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!] : schema;
  const failures: string[] = [];
  let asked = 0;
  for (const [path, methods] of Object.entries<Record<string, { requestBody?: { content?: object } }>>(
    document.paths,
  )) {
    for (const [method, { requestBody }] of Object.entries(methods)) {
      const content = requestBody?.content as { 'application/json'?: { schema: Schema } } | undefined;
      const schema = content?.['application/json']?.schema;
      if (!schema) continue;
      const url = path
        .replace(/^\/client\/v4/, '')
        .replace('{zone_id}', zone)
        .replace('{account_id}', account)
        .replace('{bucket_name}', 'assets')
        .replace(/\{[^}]+\}/g, ABSENT);
      for (const text of new Set(oddBodies(schema, resolve, (json) => json))) {
        asked++;
        const { status } = await call(method.toUpperCase() as 'POST', url, undefined, {
          text,
          headers: { 'content-type': 'application/json' },
        });
        if (status >= 500) failures.push(`${method} ${path} ${text}: ${status}`);
      }
    }
  }
  t.ok(asked > 1000, `${asked} bodies`);
  t.strictSame(failures, []);
});

t.test('nor is a record whose type has such a name', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('mine.test');
  for (const type of NAMES) {
    const record = { type, name: 'a', content: 'x', data: { [type]: 1 }, settings: { ipv4_only: true } };
    t.equal((await call('POST', `/zones/${zone}/dns_records`, record)).status, 400, type);
    t.equal((await call('GET', `/zones/${zone}/dns_records?type=${type}&order=${type}`)).status < 500, true);
    t.equal((await call('PATCH', `/zones/${zone}/settings/${type}`, { value: 'on' })).status < 500, true);
    t.equal((await call('GET', `/zones/${zone}/settings/${type}`)).status < 500, true);
  }
});
