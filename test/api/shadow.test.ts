/** Shadow metadata of records (v4: §5.7): records at, above and below delegations. */
import t from 'tap';
import { install } from './installation.js';

t.test('records that a delegation prevents from being answered', async (t) => {
  const { call, createZone, misfits } = await install(t);
  const zone = await createZone('example.com');
  const path = `/zones/${zone}/dns_records`;
  const ids = new Map<string, string>();
  const rows = [
    ['NS', 'sub', 'ns.sub.example.com'],
    ['NS', 'sub', 'ns.example.net'],
    ['DS', 'sub', '1 13 2 abababababababababababababababababababababababababababababababab'],
    ['TXT', 'sub', 'x'],
    ['A', 'ns.sub', '192.0.2.1'],
    ['TXT', 'ns.sub', 'x'],
    ['A', 'other.sub', '192.0.2.2'],
    ['NS', 'deep.sub', 'ns.deep.sub.example.com'],
    ['A', 'ns.deep.sub', '192.0.2.3'],
    ['A', 'www', '192.0.2.4'],
    ['A', 'subway', '192.0.2.5'],
  ] as const;
  for (const [type, name, content] of rows) {
    const data = { key_tag: 1, algorithm: 13, digest_type: 2, digest: 'ab'.repeat(32) };
    const { json, text } = await call('POST', path, { type, name, ...(type === 'DS' ? { data } : { content }) });
    if (!json.success) throw new Error(text);
    ids.set(`${name} ${type} ${content.slice(0, 12)}`, json.result.id);
  }
  const id = (key: string): string => [...ids].find(([name]) => name.startsWith(key))![1];
  const cut = [id('sub NS ns.sub'), id('sub NS ns.example')].sort();
  const deep = id('deep.sub NS');
  const plain = await call('GET', path);
  t.notOk(plain.text.includes('shadowed_by'), 'only when asked for');
  const { json } = await call('GET', `${path}?include_shadow_metadata=true&per_page=5000`);
  t.equal(json.result_info.per_page, 1000);
  const shadow = (key: string): unknown => {
    const { meta } = json.result.find((item: { id: string }) => item.id === id(key));
    const { shadowed_by, is_glue, dead_glue, shadowed_records_count: count } = meta;
    return [[...shadowed_by].sort(), is_glue, dead_glue, ...(count === undefined ? [] : [count])];
  };
  const expected: readonly (readonly [key: string, ...rest: unknown[]])[] = [
    ['sub NS ns.sub', [], false, false, 5],
    ['sub NS ns.example', [], false, false, 5],
    ['sub DS', [], false, false],
    ['sub TXT', cut, false, false],
    ['ns.sub A', [], true, false],
    ['ns.sub TXT', cut, false, false],
    ['other.sub A', cut, false, false],
    ['deep.sub NS', cut, false, false, 0],
    ['ns.deep.sub A', [...cut, deep].sort(), true, true],
    ['www A', [], false, false],
    ['subway A', [], false, false],
  ];
  for (const [key, ...rest] of expected) t.strictSame(shadow(key), rest, key);

  const names = async (query: string): Promise<string[]> =>
    (await call('GET', `${path}?include_shadow_metadata=true&${query}`)).json.result
      .map((item: { name: string; type: string }) => `${item.name.replace('.example.com', '')} ${item.type}`)
      .sort();
  t.strictSame(await names('shadowed_by_name=sub.example.com'), [
    'deep.sub NS',
    'ns.deep.sub A',
    'ns.sub A',
    'ns.sub TXT',
    'other.sub A',
    'sub DS',
    'sub TXT',
  ]);
  t.strictSame(await names('shadowing_name=ns.deep.sub.example.com'), ['deep.sub NS', 'sub NS', 'sub NS']);
  t.strictSame(await names('shadowing_name=www.example.com'), []);
  for (const query of [
    'shadowed_by_name=sub.example.com',
    'shadowing_name=example.com',
    'shadowing_name=example.net',
  ]) {
    t.match(await call('GET', `${path}?${query}`), { status: 400 }, query);
  }
  t.strictSame(misfits, []);
});
