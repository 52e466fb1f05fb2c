/**
 * Following the change log of signed zones: after any changes the image proves what a newly loaded one proves. The zones are
 * those of the store, where commits sign, and others that are signed as a whole after each change, also with opt-out.
 */
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { silentLogger } from '../../src/base/log.js';
import { changeDenial } from '../../src/control/dnssec/switch-denial.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord } from '../../src/control/records/records.js';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import type { Denial, HashedOwner } from '../../src/dnssec/denial.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { type Change, createZoneSource, type ZoneSource } from '../../src/publish/source.js';
import type { ServedOwner } from '../../src/serving/owner.js';
import type { ServingZone } from '../../src/serving/zone.js';
import type { DenialKind } from '../../src/store/dnssec/zones.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startZone } from '../control/fixture.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { seededRandom } from '../support/seeded-random.js';
import { plainZone, readOwners } from '../support/served-zones.js';
import { hashedName, type SignedZone, signZone } from '../support/signed-zone.js';
import { disableSigning, enableSigning } from '../support/signing.js';
import { TestClock } from '../support/test-clock.js';
import { testZoneKeys } from '../support/zone-keys.js';

const APEX = parseName('example.com.');
const ASKED = ['', 'a.', 'b.', 'c.', 'x.a.', 'a.b.', 'b.a.', 'c.b.a.', 'zz.', '-.', 'q.x.a.', 'n.c.', 'x.c.b.a.'];
const TYPES = [Type.a, Type.mx, Type.ns, Type.ds, Type.nsec, Type.dnskey, Type.soa];

interface Served {
  readonly follower: Follower;
  readonly writer: ImageWriter;
}

function serve(source: ZoneSource): Served {
  const writer = new ImageWriter({ seed: 5, heapWords: 1 << 12, slots: 256 });
  const follower = createFollower({ source, writer, clock: new TestClock(), log: silentLogger() });
  follower.loadAll();
  return { follower, writer };
}

/** Until there is nothing left to do. */
function settle({ follower }: Served): void {
  do follower.catchUp();
  while (follower.hasWork());
}

function answersTo({ writer }: Served): Buffer[] {
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  return ASKED.flatMap((name) =>
    TYPES.map((type) => {
      const query = makeQuery(parseName(`${name}example.com.`), type, { edns: 4096, dnssecOk: true });
      const out = Buffer.alloc(65535);
      return out.subarray(0, answer(query, 0, query.length, out, 0, out.length, Transport.tcp));
    }),
  );
}

function isSigned(answers: readonly Buffer[]): boolean {
  return answers.some((message) => decodeMessage(message).authority.some(({ type }) => type === Type.rrsig));
}

for (const kind of ['nsec', 'nsec3'] as const) {
  t.test(`commits in a signed zone, ${kind}`, (t) => followCommits(t, kind));
}

async function followCommits(t: Test, kind: DenialKind): Promise<void> {
  const { ctx: plain, zoneId } = await startZone(t);
  const ctx: Context = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  const source = createZoneSource(ctx.store, ctx.settings);
  const served = serve(source);
  const random = seededRandom(8);
  const check = (when: string): readonly Buffer[] => {
    settle(served);
    const answers = answersTo(served);
    t.strictSame(answers, answersTo(serve(source)), when);
    t.strictSame(served.follower.heldZones(), []);
    return answers;
  };
  await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  t.notOk(isSigned(check('unsigned')));
  await enableSigning(ctx, zoneId);
  t.ok(isSigned(check('signed')));
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZoneByName(ctx.store, 'example.com')!, kind));
  const enabled = check(kind);
  t.ok(isSigned(enabled));
  t.ok(
    enabled.every((message) => decodeMessage(message).rcode !== 2),
    'everything can be proved',
  );
  const kept: string[] = [];
  for (let round = 0; round < 60; round++) {
    const [kind, a, b] = random.bytes(3);
    const labels = ['a', 'b', 'c', '*', 'x'];
    const name = [labels[a! % 5], labels[b! % 4], labels[kind! % 3]].slice(round % 3).join('.');
    const input =
      kind! % 4 === 0
        ? { type: 'NS', name, content: 'ns.elsewhere.test' }
        : { type: 'A', name, content: `192.0.2.${round}` };
    if (kind! % 3 === 0 && kept.length > 0) await deleteRecord(ctx, zoneId, kept.splice(a! % kept.length, 1)[0]!);
    else {
      const created = await createRecord(ctx, zoneId, input).catch(() => undefined);
      if (created) kept.push(created.id);
    }
    const answers = check(`change ${round}`);
    t.ok(answers.every((message) => decodeMessage(message).rcode !== 2));
  }
  await disableSigning(ctx, zoneId);
  t.notOk(isSigned(check('unsigned again')));
}

/** A zone that is signed as a whole whenever it changes. */
class SignedSource implements ZoneSource {
  private readonly log: { readonly change: Change; readonly owners: readonly Uint8Array[] }[] = [];
  private current: SignedZone;

  constructor(
    private lines: ReadonlySet<string>,
    private denial: Denial,
  ) {
    this.current = this.sign();
  }

  change(lines: ReadonlySet<string>, denial: Denial = this.denial): void {
    const complete = denial === this.denial;
    const before = this.current;
    this.lines = lines;
    this.denial = denial;
    this.current = this.sign();
    const owners = new Map<string, Uint8Array>();
    for (const { owners: all, hashedOwners } of [before, this.current]) {
      const keys = hashedOwners.map(({ hash }) => ownerKeyOf(hashedName(hash, APEX), APEX));
      for (const key of [...all.map(({ ownerKey }) => ownerKey), ...keys]) {
        owners.set(Buffer.from(key).toString('latin1'), key);
      }
    }
    this.log.push({ change: { sequence: this.log.length + 1, zone: 1, complete }, owners: [...owners.values()] });
  }

  private sign(): SignedZone {
    const text = `@ 300 SOA ns h 1 2 3 4 60\n@ 300 NS ns.elsewhere.test.\n${[...this.lines].join('\n')}\n`;
    const owners = readOwners({ apex: 'example.com.', text });
    if (typeof owners === 'string') throw new Error(owners);
    return signZone(APEX, owners, this.denial);
  }

  snapshot<T>(read: () => T): T {
    return read();
  }

  dataVersion = (): number => this.log.length;
  lastChange = (): number => this.log.length;
  firstChange = (): number => 1;
  changesAfter = (sequence: number, limit: number): Change[] =>
    this.log.slice(sequence, sequence + limit).map(({ change }) => change);
  touchedOwners = (sequence: number): readonly Uint8Array[] => this.log[sequence - 1]!.owners;
  servedZones = (): number[] => [1];
  accountOf = (): number => 1;
  servedRecords = (): number => 10;
  expiryOf = (): undefined => undefined;
  checkedSince = (): [] => [];
  incomingVersion = (): number => 0;
  recordCount = (): number => 10;
  ownersOfSettings = (): Uint8Array[] => [];

  zone = (): ServingZone => ({ ...plainZone(APEX), denial: this.denial });

  owners = (): Iterable<ServedOwner> => this.current.owners;
  owner = (_zone: ServingZone, ownerKey: Uint8Array): ServedOwner =>
    this.current.owners.find((owner) => Buffer.compare(owner.ownerKey, ownerKey) === 0) ?? {
      ownerKey,
      records: [],
      rrsets: [],
    };
  hashedOwners = (): Iterable<HashedOwner> => this.current.hashedOwners;
  hashedOwner = (_zone: ServingZone, hash: Uint8Array): HashedOwner | undefined =>
    this.current.hashedOwners.find((owner) => Buffer.compare(owner.hash, hash) === 0);
  hashedAtOrBefore = (): undefined => undefined;
  memberAtOrBefore = (): Uint8Array => new Uint8Array(0);
  exists = (_zone: ServingZone, { ownerKey }: ServedOwner): boolean =>
    this.current.owners.some((owner) => Buffer.from(owner.ownerKey).subarray(0, ownerKey.length).equals(ownerKey));
}

t.test('changes of a zone that is signed with NSEC3', async (t) => {
  const hashed: Denial = { kind: 'nsec3', iterations: 0, salt: new Uint8Array(0), optOut: false };
  const salted: Denial = { kind: 'nsec3', iterations: 1, salt: Uint8Array.of(1, 2, 3), optOut: true };
  const random = seededRandom(21);
  const lines = new Set<string>();
  const source = new SignedSource(lines, hashed);
  const served = serve(source);
  const check = (when: string): void => {
    settle(served);
    const answers = answersTo(served);
    t.strictSame(answers, answersTo(serve(source)), when);
    t.ok(answers.every((message) => decodeMessage(message).rcode !== 2));
    t.ok(isSigned(answers));
  };
  check('empty');
  const denials = [hashed, salted, { kind: 'nsec' } as const];
  for (let round = 0; round < 60; round++) {
    for (let step = 0; step < 3; step++) {
      const [kind, a, b] = random.bytes(3);
      const labels = ['a', 'b', 'c', '*', 'x'];
      const owner = [labels[a! % 5], labels[b! % 4], labels[kind! % 3]].slice(kind! % 3).join('.');
      const data = owner.startsWith('*') || kind! % 3 > 0 ? 'A 192.0.2.1' : 'NS ns.elsewhere.test.';
      const line = `${owner} 300 ${data}`;
      if (!lines.delete(line)) lines.add(line);
    }
    source.change(new Set(lines), round % 15 === 14 ? denials[(round / 15) & 3]! : undefined);
    check(`change ${round}`);
  }
});
