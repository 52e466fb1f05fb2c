/** Scans for records that a domain has elsewhere, with a scripted resolver and the vendor's client. */
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { createAccount } from '../../src/control/access/accounts.js';
import type { AskOutside } from '../../src/control/kernel/context.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { countRunningScans } from '../../src/store/records/scans.js';
import { type Script, startScriptedUpstream } from '../support/scripted-upstream.js';
import { until } from '../support/until.js';
import { install } from './installation.js';

const ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'example.com A': ['example.com. 300 A 203.0.113.1'],
  'example.com MX': ['example.com. 300 MX 10 mail.example.com.', 'example.com. 300 MX 20 mx.example.net.'],
  'example.com TXT': ['example.com. 300 TXT "v=spf1 mx -all"'],
  'www.example.com A': ['www.example.com. 60 CNAME example.com.', 'example.com. 300 A 203.0.113.1'],
  'mail.example.com A': ['mail.example.com. 300 A 203.0.113.2'],
  'mail.example.com AAAA': ['mail.example.com. 300 AAAA 2001:db8::2'],
  '_dmarc.example.com TXT': ['_dmarc.example.com. 300 TXT "v=DMARC1; p=none"'],
};
const NAMES = ['example.com A', 'example.com MX', 'example.com MX', 'example.com TXT', 'www.example.com CNAME'];
const OTHERS = ['mail.example.com A', 'mail.example.com AAAA', '_dmarc.example.com TXT'];

const script: Script = ({ name, type }) => {
  const answer =
    ELSEWHERE[`${name} ${type}`] ??
    (name === 'www.example.com' ? ELSEWHERE['www.example.com A']!.slice(0, 1) : undefined);
  if (answer) return { answer };
  return { rcode: name.split('.').length > 2 ? 3 : 0, authority: ['example.com. 60 SOA ns. h. 1 2 3 4 60'] };
};

const printed = (items: readonly { name: string; type: string }[]): string[] =>
  items.map(({ name, type }) => `${name} ${type}`).sort();

async function serve(t: Test, how: Script) {
  const upstream = await startScriptedUpstream(t, how);
  const resolver = createUpstream({ servers: [upstream.server], clock: new SystemClock(), timeoutMs: 1000 });
  const installation = await install(t, { askOutside: (name, type) => resolver.query(name, type) });
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as { port: number };
  const apiToken = (await installation.token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  return { ...installation, client };
}

t.test('found, reviewed, accepted and rejected', async (t) => {
  const { client, createZone, call, clock, misfits } = await serve(t, script);
  const zone_id = await createZone('example.com');
  await call('POST', `/zones/${zone_id}/dns_records`, { type: 'A', name: '@', content: '203.0.113.1' });
  const found = async (): Promise<Cloudflare.DNS.RecordResponse[]> => {
    const items: Cloudflare.DNS.RecordResponse[] = [];
    for await (const item of client.dns.records.scanList({ zone_id })) items.push(item);
    return items;
  };
  t.strictSame(await found(), []);
  t.match(await client.dns.records.scanTrigger({ zone_id }), { success: true, errors: [], messages: [] });
  const expected = [...NAMES.slice(1), ...OTHERS].sort();
  await until(async () => (await found()).length >= expected.length);
  const items = await found();
  t.strictSame(printed(items as never), expected, 'all but the one that is here already');
  t.equal((await call('GET', `/zones/${zone_id}/dns_records`)).json.result.length, 1, 'nothing is added by itself');
  clock.advance(86_399_000);
  t.equal((await found()).length, expected.length, 'waits for a day');
  const rejected = items.find(({ type }) => type === 'AAAA');
  const accepted = items.filter((item) => item !== rejected);
  const done = await client.dns.records.scanReview({
    zone_id,
    accepts: accepted as never,
    rejects: [{ id: rejected!.id }],
  });
  t.strictSame(printed(done.accepts as never), printed(accepted as never));
  t.strictSame(done.rejects as unknown, [rejected!.id]);
  t.strictSame(await found(), []);
  t.match(await client.dns.records.scanTrigger({ zone_id }), { success: true });
  await until(async () => (await found()).length >= 1);
  t.strictSame(printed((await found()) as never), ['mail.example.com AAAA'], 'what was rejected is found again');
  clock.advance(86_400_000);
  t.strictSame(await found(), [], 'after a day it is forgotten');
  const { json } = await call('GET', `/zones/${zone_id}/dns_records?type=MX`);
  const exchanges = json.result.map(
    (item: { priority: number; content: string }) => `${item.priority} ${item.content}`,
  );
  t.strictSame(exchanges.sort(), ['10 mail.example.com', '20 mx.example.net']);
  t.match(await call('POST', `/zones/${zone_id}/dns_records/scan/review`, { accepts: 'x' }), {
    status: 400,
    json: { errors: [{ code: 9207, source: { pointer: '/accepts' } }] },
  });
  t.strictSame(misfits, []);
});

t.test('found and added at once, wildcards as such', async (t) => {
  const wild: Script = (question) =>
    question.type === 'A' && question.name.endsWith('.example.com') && !ELSEWHERE[`${question.name} A`]
      ? { answer: [`${question.name}. 60 A 203.0.113.99`] }
      : script(question);
  const { client, createZone, call, misfits } = await serve(t, wild);
  const zone_id = await createZone('example.com');
  t.strictSame(await client.dns.records.scan({ zone_id }), { recs_added: 9, total_records_parsed: 9 });
  const { json } = await call('GET', `/zones/${zone_id}/dns_records`);
  t.strictSame(printed(json.result), ['*.example.com A', ...NAMES, ...OTHERS].sort());
  t.strictSame(await client.dns.records.scan({ zone_id }), { recs_added: 0, total_records_parsed: 9 }, 'again');
  t.strictSame(misfits, []);
});

t.test('the number of simultaneous scans is limited', async (t) => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const askOutside: AskOutside = async () => {
    await held;
    return { status: 'nxdomain', records: [], referral: [] } as never;
  };
  const { call, createZone, clock, store, operator, token } = await install(t, { askOutside });
  const zones: string[] = [];
  for (let i = 0; i < 9; i++) zones.push(await createZone(`z${i}.example`));
  const trigger = (zone: string) => call('POST', `/zones/${zone}/dns_records/scan/trigger`);
  for (const zone of zones.slice(0, 8)) t.match(await trigger(zone), { status: 200 });
  t.match(await trigger(zones[8]!), { status: 429, json: { errors: [{ code: 971 }] } });
  t.match(await call('POST', `/zones/${zones[8]}/dns_records/scan`), { status: 429 });
  t.match(await trigger(zones[0]!), { status: 200 }, 'one that is under way goes on');
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const headers = await token({ email: 'other@example.org' });
  const { json } = await call('POST', '/zones', { name: 'other.example' }, { headers });
  const theirs = `/zones/${json.result.id}/dns_records/scan/trigger`;
  t.match(await call('POST', theirs, undefined, { headers }), { status: 200 }, 'another account has places of its own');
  clock.advance(600_000);
  t.match(await trigger(zones[8]!), { status: 200 }, 'those of a process that has ended are not waited for');
  for (const zone of zones.slice(0, 7)) t.match(await trigger(zone), { status: 200 }, 'nor do they keep others away');
  t.match(await trigger(zones[7]!), { status: 429 });
  release();
  await until(async () => (await trigger(zones[7]!)).status === 200);
  await until(() => countRunningScans(store, 0) === 0, 'all have ended, before the store is closed');
});

t.test('without a resolver', async (t) => {
  const { call, createZone } = await install(t);
  const zone = await createZone('example.com');
  t.match(await call('POST', `/zones/${zone}/dns_records/scan/trigger`), { status: 400 });
});
