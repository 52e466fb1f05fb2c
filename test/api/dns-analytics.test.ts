/** Reports of what a zone was asked, as the vendor's SDK asks for them, and how wrong questions are refused. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { Tallied } from '../../src/answer/observation.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import type { TalliedName, ZoneTally } from '../../src/observe/tally.js';
import { install } from './installation.js';

const HOUR_MS = 3_600_000;
const facts = (type: number, rcode: number = Rcode.noError, transport = 0, ipv6 = false): number =>
  type | (rcode << Tallied.rcodeShift) | (transport << Tallied.transportShift) | (ipv6 ? Tallied.ipv6 : 0);

const NAMES: readonly TalliedName[] = [
  ['www.example.com', facts(Type.a), 5],
  ['www.example.com', facts(Type.aaaa, Rcode.noError, 1, true), 3],
  ['mail.example.com', facts(Type.mx, Rcode.noError, 2), 2],
  ['', facts(Type.a, Rcode.nxDomain), 40],
  ['', facts(0, Rcode.nxDomain), 1],
];
const NETWORKS: ZoneTally['networks'] = [
  ['192.0.2.0/24', 30],
  ['2001:db8::/48', 3],
];

const installation = install(t);
let zones = 0;

async function world() {
  const installed = await installation;
  const { statistics, clock } = installed;
  const name = `example${++zones}.com`;
  const zone = await installed.createZone(name);
  /** Asked now; one of the questions could not be counted separately. */
  const ask = (): void => {
    const total = NAMES.reduce((sum, [, , count]) => sum + count, 0) + 1;
    statistics.add({ atMs: clock.nowMs(), tallies: [{ zone: name, total, names: NAMES, networks: NETWORKS }] });
  };
  const headers = await installed.token({});
  const client = new Cloudflare({
    apiToken: headers.authorization.slice(7),
    baseURL: 'http://api.test/client/v4',
    maxRetries: 0,
    fetch: async (url) => {
      const path = String(url).slice('http://api.test/client/v4'.length);
      const answer = await installed.call('GET', path, undefined, { headers });
      return new Response(answer.text, { status: answer.status, headers: { 'content-type': 'application/json' } });
    },
  });
  return { ...installed, zone, ask, reports: client.dns.analytics.reports };
}

t.test('the SDK: reports by dimensions, filters, order and limit', async (t) => {
  const { ask, reports, zone: zone_id, statistics, clock, misfits } = await world();
  ask();
  const all = await reports.get({ zone_id });
  t.match(all, { rows: 1, data: [{ dimensions: [], metrics: [52] }], totals: { queryCount: 52 }, data_lag: 10 });
  t.match(all.query, { dimensions: [], metrics: ['queryCount'], limit: 100 });
  const types = await reports.get({
    zone_id,
    dimensions: 'queryType,responseCode',
    metrics: 'queryCount,uncachedCount,staleCount',
  });
  t.strictSame(types.data, [
    { dimensions: ['A', 'NXDOMAIN'], metrics: [40, 40, 0] },
    { dimensions: ['A', 'NOERROR'], metrics: [5, 5, 0] },
    { dimensions: ['AAAA', 'NOERROR'], metrics: [3, 3, 0] },
    { dimensions: ['MX', 'NOERROR'], metrics: [2, 2, 0] },
    { dimensions: ['', ''], metrics: [1, 1, 0] },
    { dimensions: ['', 'NXDOMAIN'], metrics: [1, 1, 0] },
  ]);
  const names = await reports.get({
    zone_id,
    dimensions: 'queryName',
    filters: 'responseCode==noerror;queryName!=MAIL.example.com.,tcp>=1 AND queryType==MX',
    sort: '-queryName',
    limit: 2,
  });
  t.strictSame(names.data, [
    { dimensions: ['www.example.com'], metrics: [8] },
    { dimensions: ['mail.example.com'], metrics: [2] },
  ]);
  t.strictSame(names.query.sort, ['-queryName']);
  const some = await reports.get({ zone_id, dimensions: 'queryType', filters: 'queryType==MX OR queryType==aaaa' });
  t.strictSame(some.totals, { queryCount: 5 });
  const few = await reports.get({ zone_id, dimensions: 'protocol,ipVersion,tcp', limit: 1, filters: 'ipVersion<=4' });
  t.match(few, { rows: 1, data: [{ dimensions: ['UDP', '4', '0'], metrics: [46] }], totals: { queryCount: 48 } });
  const sources = await reports.get({ zone_id, dimensions: 'sourceNetwork,responseCached' });
  t.strictSame(sources.data, [
    { dimensions: ['192.0.2.0/24', 'Uncached'], metrics: [30] },
    { dimensions: ['', 'Uncached'], metrics: [19] },
    { dimensions: ['2001:db8::/48', 'Uncached'], metrics: [3] },
  ]);
  await statistics.close();
  t.strictSame((await reports.get({ zone_id })).data, all.data, 'stored or not, it is the same');
  clock.advance(2 * HOUR_MS);
  ask();
  t.equal((await reports.get({ zone_id })).data[0]!.metrics[0], 104, 'stored and not stored are added');
  t.strictSame(misfits, []);
});

t.test('the SDK: reports by time, by the hour and from days', async (t) => {
  const { ask, reports, zone: zone_id, statistics, clock, misfits } = await world();
  const since = new Date(clock.nowMs()).toISOString();
  ask();
  clock.advance(2 * HOUR_MS);
  ask();
  await statistics.close();
  const hours = await reports.bytimes.get({
    zone_id,
    since,
    dimensions: 'responseCode',
    filters: 'responseCode!=NXDOMAIN',
  });
  t.equal(hours.query.time_delta, 'hour');
  t.equal(hours.time_intervals.length, hours.data[0]!.metrics[0]!.length);
  t.strictSame(hours.data[0], { dimensions: ['NOERROR'], metrics: [[10, 0, 10]] });
  t.match(hours.totals, { queryCount: 22 });
  for (const [i, [begin, end]] of hours.time_intervals.entries()) {
    t.equal(Date.parse(end!) - Date.parse(begin!), HOUR_MS, `interval ${i}`);
  }
  clock.advance(10 * 24 * HOUR_MS);
  ask();
  for (const [time_delta, least, most] of [
    ['day', 11, 13],
    ['week', 2, 3],
    ['all', 1, 1],
    ['auto', 11, 13],
  ] as const) {
    const days = await reports.bytimes.get({ zone_id, since, time_delta });
    const counts = days.data[0]!.metrics[0]!;
    t.ok(counts.length >= least && counts.length <= most, `${time_delta}: ${counts.length}`);
    t.equal(
      counts.reduce((sum, count) => sum + count, 0),
      156,
      time_delta,
    );
    t.equal(counts.at(-1)! >= 52, true);
  }
  const { data } = await reports.get({ zone_id, since, dimensions: 'dayOfWeek' });
  t.ok(data.every(({ dimensions: [day] }) => /^[1-7]$/.test(day!)));
  t.strictSame(misfits, []);
});

t.test('what is not understood, not kept or too much is refused by name', async (t) => {
  const installed = await installation;
  const zone = await installed.createZone('refused.com');
  const now = installed.clock.nowMs();
  const day = (days: number): string => new Date(now + days * 24 * HOUR_MS).toISOString();
  const refused: readonly (readonly [query: string, said: RegExp])[] = [
    ['dimensions=queryName,nothing', /dimensions is invalid: expected a list of queryName, queryType/],
    ['dimensions=coloName', /coloName: nodes count together/],
    ['dimensions=queryName,queryName', /dimensions is invalid: expected each of them once/],
    ['dimensions=queryName,sourceNetwork', /dimensions is invalid: expected sourceNetwork only with responseCached/],
    ['dimensions=sourceNetwork&filters=queryType==A', /sourceNetwork only with/],
    ['metrics=queryCount,responseTimeAvg', /metrics is invalid.*responseTimeAvg: response times are not kept/],
    ['metrics=toString', /metrics is invalid: expected a list of queryCount, uncachedCount, staleCount\./],
    ['filters=queryType=A', /filters is invalid: expected conditions such as/],
    ['filters=constructor==A', /filters is invalid: expected conditions about/],
    ['filters=queryName>a', /== or != for queryName/],
    ['filters=ipVersion>many', /a whole number behind >/],
    [`filters=${'queryType==A;'.repeat(51)}queryType==A`, /at most 50 conditions/],
    [`filters=queryName==${'a'.repeat(2000)}`, /at most 2000 characters/],
    ['since=yesterday', /since is invalid: expected a time such as/],
    [`since=${day(-1)}&until=${day(-2)}`, /since is invalid: expected a time before until/],
    [`since=${day(-40)}`, /since is invalid: expected a time in the last 31 days/],
    [`until=${day(2)}`, /until is invalid/],
    ['sort=-queryName', /sort is invalid/],
    ['sort=-queryCount,queryCount', /sort is invalid: expected each of them once/],
    ['limit=0', /limit is invalid: expected a whole number from 1 to 1000/],
  ];
  for (const [query, said] of refused) {
    for (const path of ['report', 'report/bytime']) {
      const { status, json } = await installed.call('GET', `/zones/${zone}/dns_analytics/${path}?${query}`);
      t.equal(status, 400, query);
      t.match(json.errors?.[0]?.message, said);
    }
  }
  for (const query of ['time_delta=minute', `time_delta=hour&since=${day(-20)}`]) {
    const { status, json } = await installed.call('GET', `/zones/${zone}/dns_analytics/report/bytime?${query}`);
    t.equal(status, 400, query);
    t.match(json.errors?.[0]?.message, /time_delta is invalid/);
  }
  const { status } = await installed.call('GET', `/zones/${'0'.repeat(32)}/dns_analytics/report`);
  t.equal(status, 404);
});
