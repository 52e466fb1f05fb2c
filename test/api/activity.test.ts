/** Activity over HTTP: what is counted, who sees which zones, and waiting for new questions. */
import t from 'tap';
import type { Cluster } from '../../src/api/cluster/schema.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { COUNT_NAMES } from '../../src/observe/counts.js';
import type { ActivityReport, WeightedQuery } from '../../src/observe/report.js';
import { examineClusterSeen } from '../../src/warnings/cluster.js';
import { type Installation, install } from './installation.js';

function counts(some: Partial<Record<(typeof COUNT_NAMES)[number], number>>): number[] {
  return COUNT_NAMES.map((name) => some[name] ?? 0);
}

function query(zone: string, name: string, more: Partial<WeightedQuery> = {}): WeightedQuery {
  const about = { client: '192.0.2.0/24', protocol: 'udp', type: 'A', rcode: 'NOERROR', flags: ['rd'] } as const;
  return { atMs: 0, ...about, name, zone, size: 60, source: 'plain', tookUs: 3, weight: 1, ...more };
}

function report({ clock, activity }: Installation, zones: Record<string, number>, samples: WeightedQuery[] = []): void {
  const queries = Object.values(zones).reduce((sum, count) => sum + count, 0);
  const made: ActivityReport = {
    atMs: clock.nowMs(),
    total: counts({ queries: queries + 1, noerror: queries, refused: 1, plain: queries, foreign: 1, octets: 100 }),
    zones: Object.entries(zones).map(([zone, count]) => {
      return { zone, counts: counts({ queries: count, noerror: count, plain: count }) };
    }),
    samples: samples.map((sample) => ({ ...sample, atMs: clock.nowMs() })),
  };
  activity.add(made);
}

t.test('counts over time, for everything and for a zone', async (t) => {
  const installation = await install(t);
  const { call, clock, createZone, misfits } = installation;
  const zone = await createZone('example.com');
  await createZone('example.net');
  report(installation, { 'example.com': 10, 'example.net': 5 }, [
    query('example.com', 'www.example.com', { weight: 4 }),
  ]);
  clock.advance(60_000);
  report(installation, { 'example.com': 7 }, [
    query('example.com', 'slow.example.com', { tookUs: 900, rcode: 'NXDOMAIN' }),
  ]);
  const all = (await call('GET', '/activity')).json.result;
  t.match(all, { scope: 'server', period: '15m', step_seconds: 1, totals: { queries: 24, rcodes: { refused: 2 } } });
  t.match(all.zones, [
    { name: 'example.com', queries: 17 },
    { name: 'example.net', queries: 5 },
  ]);
  t.equal(all.series.at.length, 900);
  t.equal(all.series.queries.at(-1), 8);
  t.equal(all.series.queries.at(-61), 16);
  t.match(all.names, [
    { name: 'www.example.com', queries: 4, zone_id: zone },
    { name: 'slow.example.com', queries: 1, missing: 1 },
  ]);
  t.equal(all.slow[0].name, 'slow.example.com');
  t.strictSame(all.latency_micros, { p50: 5, p90: 1000, p99: 1000 });
  const one = (await call('GET', `/zones/${zone}/activity?period=24h`)).json.result;
  t.match(one, { scope: 'zone', step_seconds: 60, totals: { queries: 17, sources: { plain: 17 } } });
  t.equal(one.series.queries.length, 1440);
  clock.advance(16 * 60_000);
  t.match((await call('GET', '/activity')).json.result, { totals: { queries: 0 }, latency_micros: { p50: null } });
  t.match((await call('GET', '/activity?period=24h')).json.result, { totals: { queries: 24 } });
  t.match(await call('GET', '/activity?period=1y'), { status: 400 });
  t.strictSame(misfits, []);
});

t.test('tenants and tokens see the questions of their own zones only', async (t) => {
  const installation = await install(t);
  const { call, createZone, token, operator } = installation;
  const zone = await createZone('example.com');
  const other = await createZone('example.net');
  const tenant = await createAccount(operator, { name: 'Tenant' });
  const foreign = await token({ email: 'tenant@example.org', accountId: tenant.id });
  report(installation, { 'example.com': 10, 'example.net': 5 }, [
    query('example.com', 'www.example.com'),
    query('example.net', 'www.example.net'),
    query('', 'www.example.org', { rcode: 'REFUSED' }),
  ]);
  const names = async (headers: Record<string, string>, path = '/activity/queries') =>
    (await call('GET', path, undefined, { headers })).json.result?.map(({ name }: { name: string }) => name);
  t.strictSame(await names({}), ['www.example.com', 'www.example.net', 'www.example.org']);
  for (const signed of [zone, other]) await call('PATCH', `/zones/${signed}/dnssec`, { status: 'active' });
  const overview = async (headers: Record<string, string>) => {
    const { notices, ends } = (await call('GET', '/overview', undefined, { headers })).json.result;
    return [notices.length > 0, ends.map(({ kind, name }: Record<string, string>) => `${kind} of ${name}`).sort()];
  };
  t.strictSame(await overview({}), [true, ['signatures of example.com', 'signatures of example.net']]);
  const tokenFor = async (more: object = {}): Promise<Record<string, string>> => {
    const policy = {
      effect: 'allow',
      permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }],
      resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
      ...more,
    };
    const { json } = await call('POST', '/user/tokens', { name: 'dns of one zone', policies: [policy] });
    return { authorization: `Bearer ${json.result.value}` };
  };
  const narrow = await tokenFor();
  t.strictSame(await overview(narrow), [false, ['signatures of example.com']]);
  t.strictSame(await overview(foreign), [false, []]);
  t.match((await call('GET', '/cluster')).json.result, { id: null, nodes: [], last_snapshot: null }, 'one machine');
  for (const headers of [narrow, foreign]) {
    t.equal((await call('GET', '/cluster', undefined, { headers })).status, 403, 'nodes belong to no account');
  }
  t.strictSame(await names(narrow), ['www.example.com']);
  t.match((await call('GET', '/activity', undefined, { headers: narrow })).json.result, {
    scope: 'zones',
    totals: { queries: 10, rcodes: { refused: 0 } },
    zones: [{ name: 'example.com' }],
    names: [{ name: 'www.example.com' }],
  });
  t.equal((await call('GET', `/zones/${other}/activity`, undefined, { headers: narrow })).status, 403);
  t.equal((await call('GET', `/zones/${other}/activity/queries`, undefined, { headers: narrow })).status, 403);
  t.strictSame(await names(narrow, `/zones/${zone}/activity/queries`), ['www.example.com']);
  const zones = (await call('GET', '/activity', undefined, { headers: foreign })).json.result;
  t.match(zones, { scope: 'zones', totals: { queries: 0 }, zones: [], names: [] });
  t.strictSame(await names(foreign), []);
  const narrower = await tokenFor({ records: { names: ['_acme-challenge.*'] } });
  t.strictSame(await overview(narrower), [false, []], 'who may read some records learns nothing about the whole zone');
  t.strictSame(await names(narrower), []);
  t.match((await call('GET', '/activity', undefined, { headers: narrower })).json.result, {
    totals: { queries: 0 },
    zones: [],
    names: [],
  });
  for (const path of ['activity', 'activity/queries']) {
    t.equal((await call('GET', `/zones/${zone}/${path}`, undefined, { headers: narrower })).status, 403, path);
  }
});

t.test('the newest questions: after a number, filtered, and waited for', async (t) => {
  const installation = await install(t);
  const { call, clock, createZone, activity, misfits } = installation;
  await createZone('example.com');
  const list = async (query: string) => (await call('GET', `/activity/queries?${query}`)).json;
  t.strictSame((await list('')).result, []);
  report(installation, { 'example.com': 3 }, [
    query('example.com', 'a.example.com'),
    query('example.com', 'b.example.com', { type: 'TXT' }),
    query('example.com', 'c.example.com', { rcode: 'NXDOMAIN' }),
  ]);
  const { result } = await list('');
  t.equal(result.length, 3);
  t.strictSame((await list('name=B.ex')).result, [result[1]]);
  t.strictSame((await list('type=txt')).result, [result[1]]);
  t.strictSame((await list('rcode=nxdomain')).result, [result[2]]);
  t.strictSame((await list(`after=${result[0].number}`)).result, result.slice(1));
  t.strictSame((await list('limit=1')).result, [result[2]]);
  for (const bad of ['after=x', 'limit=0', 'limit=501', 'timeout=26', 'timeout=-1']) {
    t.match(await call('GET', `/activity/queries?${bad}`), { status: 400 }, bad);
  }
  const waiting = list(`after=${result[2].number}&timeout=20`);
  await new Promise((resolve) => setImmediate(resolve));
  report(installation, { 'example.com': 1 }, [query('example.com', 'd.example.com')]);
  t.match((await waiting).result, [{ name: 'd.example.com' }]);
  const settle = async () => {
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  };
  const choosy = list(`after=${activity.lastNumber()}&name=wanted&timeout=20`);
  await settle();
  report(installation, { 'example.com': 1 }, [query('example.com', 'other.example.com')]);
  await settle();
  report(installation, { 'example.com': 1 }, [query('example.com', 'wanted.example.com')]);
  t.match((await choosy).result, [{ name: 'wanted.example.com' }], 'a question that is not wanted ends no waiting');
  const inVain = list(`after=${activity.lastNumber()}&timeout=20`);
  await settle();
  clock.advance(20_000);
  t.strictSame((await inVain).result, []);
  const last = list(`after=${activity.lastNumber()}&timeout=20`);
  await settle();
  activity.endWaiting();
  t.strictSame((await last).result, [], 'a stop waits for nobody');
  t.strictSame(misfits, []);
});

t.test('what needs somebody in a cluster', async (t) => {
  const node = (name: string, more: object = {}): Cluster['nodes'][number] => ({
    ...{ name, role: 'all', version: '1.0.0', schema: 90, state: 'follows', applied_entry: 7, lag_entries: 0 },
    ...{ seconds_since_report: 2, ...more },
  });
  const of = (nodes: Cluster['nodes'], more: Partial<Cluster> = {}) =>
    examineClusterSeen({
      ...{ id: '1', node: 'a', state: 'following', last_entry: 7, last_snapshot: null, nodes },
      ...more,
    }).map(({ kind, text }) => [kind, text]);
  t.strictSame(of([node('a'), node('b')]), []);
  t.strictSame(of([node('a')], { id: null, state: null }), [], 'one machine');
  const nodes = [
    node('a'),
    node('b', { state: 'gone', seconds_since_report: 41, version: '0.9.0' }),
    node('c', { state: 'stopped', reason: 'entry 5 cannot be read' }),
    node('d', { state: 'behind', lag_entries: 4000, schema: 91 }),
  ];
  t.strictSame(of(nodes), [
    ['node-gone', 'node b has not reported for 41 s'],
    ['node-stopped', 'node c serves its copy and cannot follow: entry 5 cannot be read'],
    ['node-behind', 'node d lacks 4000 entries'],
    [
      'node-versions',
      'the nodes run different versions: a 1.0.0 (schema 90), c 1.0.0 (schema 90), d 1.0.0 (schema 91)',
    ],
  ]);
  t.match(of([], { state: 'away', reason: 'timeout' }), [
    ['cluster-away', 'PostgreSQL cannot be reached from this node: timeout'],
  ]);
  t.match(of([], { state: 'stopped' }), [['cluster-stopped', 'this node has stopped following the others']]);
});
