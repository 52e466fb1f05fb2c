/**
 * A long random sequence of changes of a signed zone: names, empty non-terminals, wildcards, delegations with and without DS,
 * and DNAMEs come and go, also above names that are signed. After every change the zone verifies, and is the same as if it were
 * signed anew by other code; ldns-verify-zone and dnssec-verify look at it, too.
 *
 * ZONEPLANE_SIGNING_CHANGES: how many changes (default 60), ZONEPLANE_CONFORMANCE_SEED: others. With 1000, the two programs
 * look after every change. Last run so, with NSEC and NSEC3: 2026-11-22.
 */
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { AppError } from '../../../src/base/errors.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName, printName } from '../../../src/dns/name.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import type { RR } from '../../../src/dns/rr.js';
import { readZone } from '../../../src/dns/zonefile/parser.js';
import type { Denial } from '../../../src/dnssec/denial.js';
import { unsignedOwners } from '../../../src/serving/owner.js';
import { type Dice, throwDice } from '../../support/dice.js';
import { checkLog, type FollowedZone, followAnew, followZone, zoneOf } from '../../support/followed-zone.js';
import {
  missingVerifiers,
  requireVerified,
  requireVerifiedByOthers,
  servedRecords,
} from '../../support/signed-copy.js';
import { signZone } from '../../support/signed-zone.js';
import { insertRecord } from '../../support/signing.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261122);
const CHANGES = Number(process.env['ZONEPLANE_SIGNING_CHANGES'] ?? 60);
/** Changes between two looks of other programs, which take a tenth of a second. */
const LOOK = CHANGES >= 1000 ? 1 : 20;
const APEX = 'example.com';
const MOST_RECORDS = 60;

const missing = missingVerifiers();
const skip = missing.length === 0 || process.env['CI'] === 'true' ? false : `not installed: ${missing.join(', ')}`;

const LABELS = ['a', 'b', 'c', 'd', '*', 'x-y', '\\000'];
const DS = `12345 13 2 ${'5a'.repeat(32)}`;
/** Type and content in zone file form, as often as they shall come. */
const RECORDS: readonly (readonly [type: string, content: string])[] = [
  ['A', '192.0.2.1'],
  ['A', '192.0.2.2'],
  ['AAAA', '2001:db8::1'],
  ['TXT', '"any"'],
  ['MX', '10 a'],
  ['CNAME', 'b'],
  ['NS', 'ns.else.test.'],
  ['NS', 'a.b'],
  ['DS', DS],
  ['DNAME', 'elsewhere.test.'],
];

/** Makes one change, or none when a rule of zones refuses it. Returns what it was. */
async function change(world: FollowedZone, { below, pick }: Dice): Promise<string> {
  const { ctx, zoneId } = world;
  const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
  if (items.length > 0 && below(MOST_RECORDS) < items.length) {
    const { id, type, name } = pick(items);
    await deleteRecord(ctx, zoneId, id);
    return `-${name} ${type}`;
  }
  const [type, content] = pick(RECORDS);
  const cuts = items.filter((item) => item.type === 'NS' && item.name !== APEX);
  if (type === 'DS' && cuts.length === 0) return 'nothing';
  const invented = Array.from({ length: 1 + below(4) }, () => pick(LABELS)).join('.');
  const name = type === 'DS' ? pick(cuts).name.slice(0, -APEX.length - 1) : invented;
  // At a wildcard it has no defined meaning (RFC 4592 §4.2), and whether it is signed differs.
  if (type === 'NS' && name.startsWith('*')) return 'nothing';
  const full = `${name}.${APEX}`;
  const types = new Set(items.filter((item) => item.name === full).map((item) => item.type));
  const what = `${full} ${type}`;
  // What the rules of records would refuse, of a type that clients cannot create.
  if (type === 'DNAME' || name.includes('\\')) {
    const isAlone = types.size === 0 || (type !== 'CNAME' && type !== 'NS' && !types.has('CNAME') && !types.has('NS'));
    if (!isAlone || types.has(type) || type === 'DS' || (type === 'DNAME' && name.startsWith('*'))) return 'nothing';
    await insertRecord(world, name, type, content);
    return what;
  }
  try {
    const relative = content.endsWith('.') || !/^(?:MX|CNAME|NS)$/.test(type) ? content : `${content}.${APEX}`;
    const [, priority, target = relative] = /^(\d+) ([a-z].*)$/.exec(relative) ?? [];
    const [tag, algorithm, digestType, digest] = content.split(' ');
    const data = { key_tag: Number(tag), algorithm: Number(algorithm), digest_type: Number(digestType), digest };
    await createRecord(ctx, zoneId, {
      type,
      name,
      ttl: 300,
      ...(type === 'DS' ? { data } : { content: target.replace(/\.$/, '') }),
      ...(type === 'MX' && { priority: Number(priority) }),
    } as never);
    return what;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return 'nothing';
  }
}

/** Keys and what they make differ; everything else is the same whoever signs. */
function comparable(
  records: Iterable<Pick<RR, 'owner' | 'type' | 'rdata'> & { readonly ttl?: number | undefined }>,
): string[] {
  return [...records]
    .map(({ owner, type, ttl, rdata }) => {
      const name = printName(owner).toLowerCase();
      if (type === Type.dnskey) return `${name} ${type} ${ttl}`;
      // Type covered, labels, TTL; the algorithm of all keys is the same.
      if (type === Type.rrsig) return `${name} ${type} ${ttl} ${toHex(rdata.subarray(0, 8))}`;
      return `${name} ${type} ${ttl} ${toHex(typeByCode(type).canonical(rdata))}`;
    })
    .sort();
}

const KEY_TYPES: ReadonlySet<number> = new Set([Type.dnskey, Type.nsec3param]);

function signedAnew(world: FollowedZone, denial: Denial): string[] {
  const origin = parseName(`${APEX}.`);
  const owners = [...unsignedOwners(world.ctx.store, zoneOf(world))].map((owner) => {
    // Without what is not known of flattened names.
    const rrsets = owner.rrsets.filter(({ type, rdatas }) => !KEY_TYPES.has(type) && rdatas.length > 0);
    return { ...owner, rrsets };
  });
  const { text } = signZone(origin, owners, denial);
  return comparable([...readZone({ text }, { origin }).records()].flat());
}

async function run(t: Test, denial: Denial): Promise<void> {
  const { ctx: plain, zoneId, clock } = await startZone(t);
  clock.advance(Date.now() - clock.nowMs());
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  await editDnssec(ctx, zoneId, { status: 'active', denial: denial.kind });
  const world = followZone(ctx, APEX);
  const dice = throwDice(SEED);
  const kinds = new Map<string, number>();
  for (let i = 0; i < CHANGES; i++) {
    const what = await change(world, dice);
    if (what === 'nothing') {
      i--;
      continue;
    }
    const kind = `${what.startsWith('-') ? '-' : ''}${what.split(' ').at(-1)}`;
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    checkLog(world);
    requireVerified(world, what);
    const [own, anew] = [comparable(servedRecords(world)), signedAnew(world, denial)];
    if (own.join() !== anew.join()) {
      t.strictSame(own, anew, `change ${i}: ${what}`);
      return;
    }
    if (i % LOOK === 0) requireVerifiedByOthers(world, what);
  }
  followAnew(world);
  for (const type of ['A', 'NS', 'DS', 'DNAME', '-NS']) t.ok(kinds.has(type), `${type} was among the changes`);
  t.comment([...kinds].map(([kind, count]) => `${kind} ${count}`).join(', '));
}

const DENIALS: readonly Denial[] = [
  { kind: 'nsec' },
  { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false },
  { kind: 'compact' },
];

for (const denial of DENIALS) {
  t.test(`${CHANGES} random changes, ${denial.kind}, seed ${SEED}`, { skip, timeout: 3_600_000 }, (t) =>
    run(t, denial),
  );
}
