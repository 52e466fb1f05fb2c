/** Load balancers in signed zones: every RRset that can be answered has a signature that fits, and no question waits for one. */
import t, { type Test } from 'tap';
import { fromHex } from '../../src/base/bytes.js';
import { editDnssec } from '../../src/control/dnssec/delegation.js';
import { createRecord } from '../../src/control/records/records.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { typesOfBitmap } from '../../src/dns/type-bitmap.js';
import { isSignedBy, readPublicKey } from '../../src/dnssec/key.js';
import { readSignature, signedOctets } from '../../src/dnssec/signature.js';
import { signatureOctets } from '../../src/store/dnssec/signatures.js';
import { APEX, type BalancedZone, startBalancedZone } from '../support/balanced-zone.js';
import type { DecodedMessage } from '../support/message.js';
import { requireVerified } from '../support/signed-copy.js';

async function start(t: Test, use_nsec3: boolean): Promise<BalancedZone> {
  const world = await startBalancedZone(t);
  await createRecord(world.ctx, world.zoneId, {
    name: `www.${APEX}`,
    type: 'MX',
    content: `mx.${APEX}`,
    priority: 5,
    ttl: 60,
  });
  await world.pool('a', [
    { name: 'one', address: '192.0.2.1' },
    { name: 'two', address: '192.0.2.2' },
  ]);
  await world.pool('b', [
    { name: 'six', address: '2001:db8::6' },
    { name: 'four', address: '198.51.100.4' },
  ]);
  for (const [pool, origin] of [
    ['a', 'one'],
    ['a', 'two'],
    ['b', 'six'],
    ['b', 'four'],
  ] as const) {
    await world.health(pool, origin, true);
  }
  const lists = { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b'), ttl: 60 };
  await world.balancer('www', lists);
  await editDnssec(world.ctx, world.zoneId, { status: 'active', dnssec_use_nsec3: use_nsec3 });
  world.follower.catchUp();
  await world.balancer('*.wild', { ...lists, answer: 'all' });
  return world;
}

/** Throws unless the answer section has one signed RRset of a type whose signature a key of the zone made. */
function requireSigned(world: BalancedZone, owner: string, message: DecodedMessage, type: number): string[] {
  const rdatas = message.answer.filter((rr) => rr.type === type).map(({ rdata }) => fromHex(rdata)!);
  const [rrsig] = message.answer.filter((rr) => rr.type === Type.rrsig);
  if (!rrsig || rdatas.length === 0) throw new Error(`no signed answer for ${owner}`);
  const signature = readSignature(fromHex(rrsig.rdata)!);
  const keys = world.ask('@', Type.dnskey).answer.map(({ rdata }) => readPublicKey(fromHex(rdata)!));
  const octets = signedOctets({ ...signature, head: fromHex(rrsig.rdata)! }, parseName(owner), rdatas);
  if (signature.typeCovered !== type || !keys.some((key) => isSignedBy(key, octets, signature.signature))) {
    throw new Error(`the signature of ${owner} does not fit`);
  }
  return rdatas.map((rdata) => Buffer.from(rdata).toString('hex'));
}

for (const nsec3 of [false, true]) {
  t.test(`every answer is signed, whatever the state, ${nsec3 ? 'NSEC3' : 'NSEC'}`, async (t) => {
    const world = await start(t, nsec3);
    const signatures = (): Buffer => Buffer.from(signatureOctets(world.ctx.store, world.seq, Buffer.from('www\0'))!);
    const before = signatures();
    const owner = `www.${APEX}.`;
    const seen = new Set<string>();
    const look = (name = owner, label = 'www', type: number = Type.a): void => {
      for (let i = 0; i < 20; i++) {
        const message = world.ask(label, type, { dnssecOk: true });
        for (const rdata of requireSigned(world, name, message, type)) seen.add(rdata);
      }
    };
    look();
    t.strictSame([...seen].sort(), ['c0000201', 'c0000202']);
    await world.health('a', 'one', false);
    seen.clear();
    look();
    t.strictSame([...seen], ['c0000202']);
    await world.health('a', 'two', false);
    seen.clear();
    look();
    look(owner, 'www', Type.aaaa);
    t.strictSame([...seen].sort(), ['20010db8000000000000000000000006', 'c6336404']);
    look(`x.wild.${APEX}.`, 'x.wild');
    t.equal(world.ask('x.wild').answer.length, 1, 'what is signed alone is answered alone');
    t.match(world.ask('x.wild', Type.a, { dnssecOk: true }).authority, [{ type: nsec3 ? Type.nsec3 : Type.nsec }, {}]);
    t.strictSame(signatures(), before, 'nothing was signed meanwhile');
    requireVerified({ ...world, apex: APEX }, 'changes of health');
    await world.pool('a', [{ name: 'one', address: '192.0.2.9' }]);
    await world.health('a', 'one', true);
    seen.clear();
    look();
    t.strictSame([...seen], ['c0000209'], 'an edit is signed with it');
    requireVerified({ ...world, apex: APEX }, 'an edit of a pool');
  });
}

t.test('absence that the types of the name deny is never said', async (t) => {
  const world = await start(t, false);
  const { authority } = world.ask('www', Type.txt, { dnssecOk: true });
  const nsec = fromHex(authority.find(({ type }) => type === Type.nsec)!.rdata)!;
  const bitmapAt = nameEnd(nsec);
  t.strictSame(typesOfBitmap(nsec, bitmapAt, nsec.length), [Type.a, Type.mx, Type.aaaa, Type.rrsig, Type.nsec]);
  // The chosen pool has no origin of IPv6.
  requireSigned(world, `www.${APEX}.`, world.ask('www', Type.aaaa, { dnssecOk: true }), Type.aaaa);
  await world.pool('b', [{ name: 'six', address: '2001:db8::6' }], { enabled: false });
  await world.health('a', 'one', false);
  await world.health('a', 'two', false);
  requireSigned(world, `www.${APEX}.`, world.ask('www', Type.a, { dnssecOk: true }), Type.a);
  const gone = world.ask('www', Type.aaaa, { dnssecOk: true });
  t.strictSame(gone.answer, [], 'no enabled pool has the family: it is not among the types');
});

/** Octets of the name at the beginning. */
function nameEnd(octets: Uint8Array): number {
  let at = 0;
  while (octets[at] !== 0) at += 1 + octets[at]!;
  return at + 1;
}

t.test('a name of which nothing is left is proved to exist', async (t) => {
  const world = await start(t, false);
  await world.pool('c', [{ name: 'o', address: '192.0.2.77' }], {}, false);
  await world.balancer('only', { default_pools: [world.idOf('c')], fallback_pool: world.idOf('c') });
  requireSigned(world, `only.${APEX}.`, world.ask('only', Type.a, { dnssecOk: true }), Type.a);
  await world.pool('c', [{ name: 'o', address: '192.0.2.77' }], { enabled: false }, false);
  const { rcode, authority } = world.ask('only', Type.a, { dnssecOk: true });
  const nsec = authority.find(({ type, owner }) => type === Type.nsec && owner === `only.${APEX}.`)!;
  const octets = fromHex(nsec.rdata)!;
  t.equal(rcode, 0);
  t.strictSame(typesOfBitmap(octets, nameEnd(octets), octets.length), [Type.rrsig, Type.nsec]);
  requireVerified({ ...world, apex: APEX }, 'the last origin');
});
