/** Explanations: the deciding steps are named, and the answer equals the served one, for every kind of name. */
import { createRequire } from 'node:module';
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { parseIP } from '../../src/base/ip.js';
import { importZone } from '../../src/control/imports/zone.js';
import { commit } from '../../src/control/kernel/commit.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import { type ReadMessage, readMessage } from '../../src/dns/message.js';
import { parseName } from '../../src/dns/name.js';
import { typeByMnemonic } from '../../src/dns/rr/registry.js';
import { effectOf, readSubnet } from '../../src/explain/client-subnet.js';
import { type Explanation, explain, printExplanation, printPackets } from '../../src/explain/explain.js';
import type { Packet } from '../../src/explain/packet.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { findTarget, updateTarget } from '../../src/store/flatten/targets.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { makeQuery } from '../support/message.js';

const ZONE = `$ORIGIN plain.test.
$TTL 300
@ SOA ns1.plain.test. h.plain.test. 7 3600 600 86400 60
@ NS ns1
ns1 A 192.0.2.53
www A 192.0.2.1
a CNAME b
b CNAME www
out CNAME www.else.test.
*.wild A 192.0.2.5
deep.below.ent A 192.0.2.6
sub NS ns.sub
ns.sub A 192.0.2.7
moved DNAME ent.plain.test.
`;
const EDGE = { ipv4: [parseIP('198.51.100.1')!], ipv6: [parseIP('2001:db8:ed::1')!] };

const steps = ({ steps: list }: Explanation): string[] => list.map(({ step, name }) => `${step} ${name}`);

interface ForeignMessage {
  readonly flag_aa: boolean;
  readonly questions: readonly { readonly name: string; readonly type: string }[];
  readonly answers: readonly unknown[];
  readonly authorities: readonly unknown[];
  readonly additionals: readonly { readonly type: string; readonly options?: readonly Record<string, unknown>[] }[];
}

const { decode } = createRequire(import.meta.url)('dns-packet') as { decode(message: Buffer): ForeignMessage };

/** The whole message that the parts are of. */
function joined({ size, parts }: Packet): Buffer {
  let at = 0;
  for (const { offset, hex } of parts) {
    if (offset !== at) throw new Error(`a part begins at ${offset} instead of ${at}`);
    at += hex.length / 2;
  }
  if (at !== size) throw new Error(`the parts end at ${at} of ${size}`);
  return Buffer.from(parts.map(({ hex }) => hex).join(''), 'hex');
}

/** Another program reads the same from the packets. */
function checkPackets(t: Test, { packets, answer, name, type }: Explanation): void {
  const { query, response } = packets!;
  // It does not know this type by name.
  const asked = type === 'HTTPS' ? 'UNKNOWN_65' : type;
  t.match(decode(joined(query)), { questions: [{ name, type: asked }], additionals: [{ type: 'OPT' }] });
  const foreign = decode(joined(response));
  t.equal(foreign.flag_aa, answer.authoritative);
  const textsOf = (part: string): string[] =>
    response.parts.filter((item) => item.part === part).map(({ text }) => text);
  t.strictSame(textsOf('answer'), answer.answer);
  t.strictSame(textsOf('authority'), answer.authority);
  t.equal(foreign.answers.length, answer.answer.length);
  t.equal(foreign.authorities.length, answer.authority.length);
  t.equal(foreign.additionals.length, textsOf('additional').length);
  t.match(textsOf('header'), [
    new RegExp(`^QUERY; ${answer.rcode}; id 0; flags qr${answer.authoritative ? ' aa' : ''};`),
  ]);
}

t.test('the deciding steps', async (t) => {
  const { ctx } = await startControl(t, { edgeAddresses: [...EDGE.ipv4, ...EDGE.ipv6] });
  const { imported, issues } = await importZone(ctx, { source: { text: ZONE } });
  t.ok(imported, JSON.stringify(issues));
  const { id } = await createZone(ctx, { name: 'web.test' });
  await createRecord(ctx, id, { type: 'A', name: 'shop', content: '192.0.2.9', proxied: true });
  await createRecord(ctx, id, { type: 'CNAME', name: '@', content: 'host.else.test', ttl: 600 });
  await createRecord(ctx, id, { type: 'CNAME', name: 'to', content: 'web.test' });
  const { seq } = findZoneByName(ctx.store, 'web.test')!;
  await commit(ctx, (draft) => draft.setCertifiedNames(seq, ['*.web.test']));
  await createRecord(ctx, id, { type: 'A', name: 'bare.shop', content: '192.0.2.9', proxied: true });
  const row = findTarget(ctx.store, parseName('host.else.test.'))!;
  const writer = new ImageWriter({ seed: 5 });
  const source = createZoneSource(ctx.store, ctx.settings);
  const follower = createFollower({ source, writer, clock: ctx.clock, log: ctx.log });
  follower.loadAll();
  const engine = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const out = Buffer.alloc(65_535);
  /** What is served, to compare with. */
  const served = (name: string, type: string): string => {
    const query = makeQuery(parseName(`${name}.`), typeByMnemonic(type)!.code);
    const length = engine(query, 0, query.length, out, 0, out.length, Transport.tcp);
    const message = readMessage(new Uint8Array(out.subarray(0, length)))!;
    return `${message.rcode} ${message.answers.length} ${message.authorities.length} ${message.flags & 0x0400}`;
  };
  for (const [name, type, ...expected] of [
    ['www.plain.test', 'A', 'zone plain.test', 'node www.plain.test'],
    ['WWW.Plain.test', 'TXT', 'zone plain.test', 'node www.plain.test'],
    [
      'a.plain.test',
      'A',
      'zone plain.test',
      'node a.plain.test',
      'alias a.plain.test',
      'node b.plain.test',
      'alias b.plain.test',
      'node www.plain.test',
    ],
    ['out.plain.test', 'A', 'zone plain.test', 'node out.plain.test', 'alias out.plain.test', 'outside www.else.test'],
    ['x.y.wild.plain.test', 'A', 'zone plain.test', 'node *.wild.plain.test'],
    ['wild.plain.test', 'A', 'zone plain.test', 'node wild.plain.test'],
    ['ent.plain.test', 'A', 'zone plain.test', 'node ent.plain.test'],
    ['no.plain.test', 'A', 'zone plain.test', 'node no.plain.test'],
    ['x.sub.plain.test', 'A', 'zone plain.test', 'delegation sub.plain.test'],
    ['below.moved.plain.test', 'A', 'zone plain.test', 'alias moved.plain.test', 'node below.ent.plain.test'],
    ['plain.test', 'SOA', 'zone plain.test', 'node plain.test'],
    ['shop.web.test', 'A', 'zone web.test', 'node shop.web.test', 'proxied shop.web.test'],
    [
      'shop.web.test',
      'HTTPS',
      'zone web.test',
      'node shop.web.test',
      'proxied shop.web.test',
      'synthesized shop.web.test',
    ],
    [
      'bare.shop.web.test',
      'HTTPS',
      'zone web.test',
      'node bare.shop.web.test',
      'proxied bare.shop.web.test',
      'synthesized bare.shop.web.test',
    ],
    [
      'to.web.test',
      'A',
      'zone web.test',
      'node to.web.test',
      'alias to.web.test',
      'node web.test',
      'flattened web.test',
    ],
    ['a.plain.test', 'CNAME', 'zone plain.test', 'node a.plain.test', 'alias a.plain.test'],
    ['web.test', 'A', 'zone web.test', 'node web.test', 'flattened web.test'],
    ['web.test', 'NS', 'zone web.test', 'node web.test', 'flattened web.test', 'synthesized web.test'],
  ] as const) {
    const explanation = explain(ctx, name, type);
    t.same(steps(explanation), expected, `${name} ${type}`);
    const { rcode, authoritative, answer, authority } = explanation.answer;
    const codes = { NOERROR: 0, SERVFAIL: 2, NXDOMAIN: 3 } as Record<string, number>;
    t.equal(
      `${codes[rcode]} ${answer.length} ${authority.length} ${authoritative ? 0x0400 : 0}`,
      served(name.toLowerCase(), type),
      'as it is served',
    );
    checkPackets(t, explanation);
  }
  t.match(printExplanation(explain(ctx, 'web.test', 'A')).join('\n'), /has not been resolved yet[\s\S]*SERVFAIL/);
  const heard = {
    ...row,
    name: parseName('host.else.test.'),
    ipv4: parseIP('203.0.113.5')!,
    ipv6: new Uint8Array(0),
    ttl: 120,
    resolved_at: ctx.clock.nowMs() * 1000 - 7_000_000,
    refresh_at: ctx.clock.nowMs() + 90_000,
    chain: '[{"name":"end.else.test","ttl":120,"source":"upstream"}]',
  };
  await ctx.store.write(() => updateTarget(ctx.store, heard, []));
  const told = printExplanation(explain(ctx, 'web.test', 'A')).join('\n');
  t.match(told, /addresses of host\.else\.test; resolved 7 s ago, TTL 120, resolved again in 90 s/);
  t.match(told, /end\.else\.test: next of the chain, TTL 120, from outside/);
  t.match(told, /answer {5}web\.test\. 120 IN A 203\.0\.113\.5/);
  t.same(steps(explain(ctx, 'www.nobody.test', 'A')), ['outside www.nobody.test']);
  t.match(explain(ctx, 'shop', 'A', { zoneId: id }), { name: 'shop.web.test', answer: { rcode: 'NOERROR' } });
  t.match(explain(ctx, '@', 'A', { zoneId: id }), { name: 'web.test' });
  t.throws(() => explain(ctx, 'www.plain.test.', 'A', { zoneId: id }), /not in the zone/);
  t.throws(() => explain(ctx, 'a..b', 'A'), /empty label/);
  t.throws(() => explain(ctx, 'a.test', 'WHAT'), /no record type WHAT/);
  t.equal(explain(ctx, 'www.nobody.test', 'A').packets, null);
});

t.test('a client subnet is sent along, and its effect is read from the response', async (t) => {
  const { ctx } = await startControl(t);
  const { id } = await createZone(ctx, { name: 'web.test' });
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.9' });
  for (const [clientSubnet, asked, family, bits] of [
    ['198.51.101.200/23', '198.51.100.0/23', 1, 23],
    ['192.0.2.1', '192.0.2.1/32', 1, 32],
    ['2001:db8:ffff::/36', '2001:db8:f000::/36', 2, 36],
    ['0.0.0.0/0', '0.0.0.0/0', 1, 0],
  ] as const) {
    const explanation = explain(ctx, 'www.web.test', 'A', { clientSubnet });
    t.match(explanation.clientSubnet, { asked, used: false, detail: /every subnet get this answer/ });
    const [option] = decode(joined(explanation.packets!.query)).additionals[0]!.options!;
    t.match(option, { type: 'CLIENT_SUBNET', family, sourcePrefixLength: bits, scopePrefixLength: 0 });
    t.ok(printPackets(explanation).some((line) => line.includes(`client subnet ${asked}, scope 0`)));
    t.match(printExplanation(explanation).join('\n'), /subnet {5}.*every subnet/);
  }
  t.equal(explain(ctx, 'www.web.test', 'A').clientSubnet, null);
  const row = { options: Uint8Array.of(0, 8, 0, 7, 0, 1, 24, 24, 192, 0, 2) } as ReadMessage;
  t.match(effectOf(readSubnet('192.0.2.0/24'), row), { used: true }, 'a server that used it says so');
  for (const bad of ['', 'x', '192.0.2.0/33', '192.0.2'])
    t.throws(() => explain(ctx, 'www.web.test', 'A', { clientSubnet: bad }), /not a network/, bad);
});
