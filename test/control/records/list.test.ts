/** Lists of records: every filter of api-contract §5.5, alone and combined, sort orders and pages. */
import t from 'tap';
import { createRecord, listRecords, type RecordInput, type RecordQuery } from '../../../src/control/records/records.js';
import { startZone, type ZoneFixture } from '../fixture.js';

const RECORDS: Readonly<Record<string, RecordInput>> = {
  apex: { type: 'A', name: '@', content: '192.0.2.1', proxied: true },
  www: { type: 'CNAME', name: 'www', content: 'Example.com', comment: 'Main Site', tags: ['env:prod', 'team:Web'] },
  v6: { type: 'AAAA', name: 'v6', content: '2001:db8::1', ttl: 120, tags: ['env:test'] },
  mail: { type: 'MX', name: '@', content: 'mail.example.com', priority: 10, comment: 'ÄRGER' },
  quoted: { type: 'TXT', name: 'txt', content: '"Hello  there" " friend"' },
  plain: { type: 'TXT', name: 'txt', content: 'v=Plain text', tags: ['bare'] },
  caa: { type: 'CAA', name: '@', content: '0 issue "ca.test"' },
  srv: { type: 'SRV', name: '_sip._tcp', data: { priority: 1, weight: 2, port: 3, target: 'a.test' }, ttl: 600 },
};

/** A function that gives the names in {@link RECORDS} of what a query finds, sorted. */
async function startList(
  t: Parameters<typeof startZone>[0],
): Promise<ZoneFixture & { find(query: RecordQuery): Promise<string[]> }> {
  const fixture = await startZone(t);
  const ids = new Map<string, string>();
  for (const [key, input] of Object.entries(RECORDS)) {
    ids.set((await createRecord(fixture.ctx, fixture.zoneId, input)).id, key);
  }
  const find = async (query: RecordQuery): Promise<string[]> => {
    const { items, totalCount } = await listRecords(fixture.ctx, fixture.zoneId, query);
    t.equal(items.length, totalCount);
    return items.map(({ id }) => ids.get(id)!).sort();
  };
  return { ...fixture, find };
}

const ALL = Object.keys(RECORDS).sort();

t.test('names', async (t) => {
  const { find } = await startList(t);
  t.same(await find({}), ALL);
  t.same(await find({ name: { exact: 'WWW.Example.com.' } }), ['www']);
  t.same(await find({ name: { exact: 'www' } }), [], 'relative names fit nothing');
  t.same(await find({ name: { exact: 'example.com' } }), ['apex', 'caa', 'mail']);
  t.same(await find({ name: { exact: 'www.example.net' } }), []);
  t.same(await find({ name: { exact: 'a..b.example.com' } }), []);
  t.same(await find({ name: { contains: 'TXT' } }), ['plain', 'quoted']);
  t.same(await find({ name: { startswith: '_sip' } }), ['srv']);
  t.same(await find({ name: { endswith: 'tcp.example.com' } }), ['srv']);
  t.same(await find({ name: { contains: '%' } }), [], 'no wildcard characters');
  t.same(await find({ name: { startswith: 'v', endswith: 'example.com' } }), ['v6'], 'both hold');
});

t.test('content', async (t) => {
  const { find } = await startList(t);
  const exact = (content: string, more: RecordQuery = {}) => find({ content: { exact: content }, ...more });
  t.same(await exact('192.0.2.1'), ['apex']);
  t.same(await exact('2001:0DB8:0:0::0001'), ['v6'], 'any spelling of the address');
  t.same(await exact('EXAMPLE.com.'), ['www']);
  t.same(await exact('mail.example.com.'), ['mail']);
  t.same(await exact('0\tissue   "ca.test"'), ['caa']);
  t.same(await exact('0 issue ca.test'), ['caa']);
  t.same(await exact('2 3 a.test'), ['srv']);
  t.same(await exact('"Hello  there" " friend"'), ['quoted'], 'as sent');
  t.same(await exact('Hello  there friend'), ['quoted'], 'as decoded');
  t.same(await exact('"v=Plain text"'), ['plain']);
  t.same(await exact('V=PLAIN TEXT'), ['plain'], 'case does not matter');
  t.same(await exact('v=Plain text', { types: ['TXT'] }), ['plain']);
  t.same(await exact('192.0.2.1', { types: ['TXT'] }), []);
  t.same(await exact('v=Plain'), []);
  t.same(await find({ content: { contains: 'THERE FRIEND' } }), ['quoted'], 'across the strings');
  t.same(await find({ content: { contains: '" "' } }), ['quoted']);
  t.same(await find({ content: { startswith: 'hello' } }), ['quoted']);
  t.same(await find({ content: { endswith: 'example.com' } }), ['mail', 'www']);
  t.same(await find({ content: { endswith: 'a very long text that is longer than any content is' } }), []);
});

t.test('type, proxied, comment, tags', async (t) => {
  const { find } = await startList(t);
  t.same(await find({ types: ['txt', 'MX'] }), ['mail', 'plain', 'quoted']);
  t.same(await find({ types: ['NONSENSE'] }), []);
  t.same(await find({ proxied: true }), ['apex']);
  t.equal((await find({ proxied: false })).length, ALL.length - 1);
  t.same(await find({ comment: { exact: 'main site' } }), ['www']);
  t.same(await find({ comment: { contains: 'ärg' } }), ['mail'], 'case of all letters');
  t.same(await find({ comment: { startswith: 'MAIN' } }), ['www']);
  t.same(await find({ comment: { endswith: '' } }), ['mail', 'www'], 'only records with a comment');
  t.same(await find({ comment: { present: true } }), ['mail', 'www']);
  t.equal((await find({ comment: { absent: true } })).length, ALL.length - 2);

  t.same(await find({ tags: [{ operator: 'exact', name: 'ENV', value: 'prod' }] }), ['www']);
  t.same(await find({ tags: [{ operator: 'present', name: 'env' }] }), ['v6', 'www']);
  t.same(await find({ tags: [{ operator: 'present', name: 'bare' }] }), ['plain']);
  t.same(await find({ tags: [{ operator: 'exact', name: 'bare', value: '' }] }), ['plain']);
  t.equal((await find({ tags: [{ operator: 'absent', name: 'env' }] })).length, ALL.length - 2);
  t.same(await find({ tags: [{ operator: 'contains', name: 'team', value: 'we' }] }), ['www']);
  t.same(await find({ tags: [{ operator: 'startswith', name: 'env', value: 'te' }] }), ['v6']);
  t.same(await find({ tags: [{ operator: 'endswith', name: 'env', value: 'od' }] }), ['www']);
  t.same(await find({ tags: [{ operator: 'present', name: 'en' }] }), []);
});

t.test('however many filters by tags, one look at each record', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const { store } = ctx;
  let looks = 0;
  const define = store.defineFunction.bind(store);
  store.defineFunction = (name, compute) =>
    define(
      name,
      name === 'tags_match'
        ? (tags, filter) => {
            looks++;
            return compute(tags!, filter!);
          }
        : compute,
    );
  for (let i = 0; i < 20; i++) {
    const tags = i % 2 === 0 ? [`even:${i}`, 'Kind:Ärger'] : [];
    await createRecord(ctx, zoneId, { type: 'A', name: `r${i}`, content: '192.0.2.1', tags });
  }
  const tests = Array.from({ length: 99 }, (_, i) => ({ operator: 'absent', name: `none${i}` }) as const);
  const find = (query: RecordQuery) => listRecords(ctx, zoneId, query);
  const even = { operator: 'present', name: 'EVEN' } as const;
  t.equal((await find({ tags: [...tests, even] })).totalCount, 10);
  t.equal(looks, 20);
  t.equal(
    (await find({ tags: tests.map(({ name }) => ({ operator: 'present', name })), tagMatch: 'any' })).totalCount,
    0,
  );
  const folded = { operator: 'contains', name: 'kind', value: 'äRG' } as const;
  t.equal((await find({ tags: [folded] })).totalCount, 10, 'case does not matter, beyond ASCII, too');
  t.equal((await find({ tags: [{ ...folded, operator: 'absent' }] })).totalCount, 10, 'records without any tags');
});

t.test('how conditions are joined', async (t) => {
  const { find } = await startList(t);
  const env = { operator: 'present', name: 'env' } as const;
  const team = { operator: 'present', name: 'team' } as const;
  const bare = { operator: 'present', name: 'bare' } as const;
  t.same(await find({ types: ['A'], name: { exact: 'www.example.com' } }), []);
  t.same(await find({ types: ['A'], name: { exact: 'www.example.com' }, match: 'any' }), ['apex', 'www']);
  t.same(await find({ tags: [env, team] }), ['www']);
  t.same(await find({ tags: [team, bare], tagMatch: 'any' }), ['plain', 'www']);
  t.same(await find({ tags: [env, team], match: 'any' }), ['www'], 'tags are one condition');
  t.same(await find({ tags: [env, team], tagMatch: 'any', types: ['AAAA'] }), ['v6']);
  t.same(await find({ tags: [env, team], types: ['A'], match: 'any' }), ['apex', 'www']);
  t.same(await find({ match: 'any' }), ALL, 'no condition, no limit');
  t.same(await find({ search: 'main SITE' }), ['www'], 'every word, in any field');
  t.same(await find({ search: 'cname prod' }), ['www']);
  t.same(await find({ search: 'friend' }), ['quoted']);
  t.same(await find({ search: 'there friend', types: ['A'], match: 'any' }), [], 'search always holds');
  t.same(await find({ search: '   ' }), ALL);
});

t.test('orders and pages', async (t) => {
  const { ctx, zoneId } = await startList(t);
  const list = async (query: RecordQuery): Promise<string[]> =>
    (await listRecords(ctx, zoneId, query)).items.map(({ name, type }) => `${name} ${type}`);
  const names = (lines: readonly string[]): string[] => lines.map((line) => line.split(' ')[0]!);
  const types = (lines: readonly string[]): string[] => lines.map((line) => line.split(' ')[1]!);
  const byName = [
    '_sip._tcp.example.com SRV',
    'example.com A',
    'example.com CAA',
    'example.com MX',
    'txt.example.com TXT',
    'txt.example.com TXT',
    'v6.example.com AAAA',
    'www.example.com CNAME',
  ];
  t.same(await list({ order: 'name' }), byName);
  t.same(names(await list({})), names(byName));
  // RFC 4034 §6.1
  const canonical = [
    'example.com A',
    'example.com MX',
    'example.com CAA',
    '_sip._tcp.example.com SRV',
    'txt.example.com TXT',
    'txt.example.com TXT',
    'v6.example.com AAAA',
    'www.example.com CNAME',
  ];
  t.same(await list({ order: 'canonical' }), canonical);
  t.same(await list({ order: 'canonical', direction: 'desc' }), canonical.toReversed());
  t.same(names(await list({ order: 'canonical', search: 'e' })), names(canonical), 'also when some are sought');
  t.equal((await list({ direction: 'desc' }))[0], byName.at(-1));
  t.same(types(await list({ order: 'type' })), ['A', 'AAAA', 'CAA', 'CNAME', 'MX', 'SRV', 'TXT', 'TXT']);
  t.equal((await list({ order: 'type', direction: 'desc' })).at(-1), 'example.com A');
  t.same((await list({ order: 'ttl' })).slice(-2), ['v6.example.com AAAA', '_sip._tcp.example.com SRV']);
  t.equal((await list({ order: 'proxied' })).at(-1), 'example.com A');
  t.equal((await list({ order: 'content' }))[0], 'txt.example.com TXT', 'a quote sorts first');

  const pages = [1, 2, 3, 4].map((page) => listRecords(ctx, zoneId, { page, perPage: 3 }));
  const sizes = (await Promise.all(pages)).map(({ items, totalCount, perPage }) => [items.length, totalCount, perPage]);
  t.same(sizes, [
    [3, 8, 3],
    [3, 8, 3],
    [2, 8, 3],
    [0, 8, 3],
  ]);
  const ids = (await Promise.all(pages)).flatMap(({ items }) => items.map(({ id }) => id));
  t.equal(new Set(ids).size, 8, 'every record once');
  t.match(await listRecords(ctx, zoneId, { page: -3, perPage: 1e9 }), { page: 1, perPage: 50_000 });
  t.match(await listRecords(ctx, zoneId, {}), { page: 1, perPage: 100, totalCount: 8 });
});
