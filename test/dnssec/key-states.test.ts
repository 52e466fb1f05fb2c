/**
 * Rollovers in simulated time: whatever a resolver holds in its cache (keys, signatures, DS), each as old as its TTL
 * allows, it can validate every answer at every moment.
 */
import t from 'tap';
import {
  dutiesOf,
  isEntryRole,
  judgeKeys,
  type KeyFacts,
  type KeyRole,
  type KeyState,
  type KeyWait,
  type RolloverFacts,
  signsRecords,
} from '../../src/dnssec/key-states.js';
import { seededRandom } from '../support/seeded-random.js';

const DNSKEY_TTL = 3600;
const LARGEST_TTL = 7200;
const PROPAGATION = 1800;
const DS_TTL = 10_800;
/** Seconds of one step of the simulation. */
const STEP = 300;

/** Numbers from 0 to below 1. */
function randomNumbers(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random.bytes(1)[0]! / 256;
}

/** What the servers of the zone and its parent answer at a moment. */
interface Answers {
  readonly dnskeys: readonly KeyFacts[];
  /** KSKs whose signatures are over the DNSKEY RRset. */
  readonly keySigners: readonly KeyFacts[];
  /** Sets of ZSKs that different RRsets are signed with. */
  readonly signers: readonly (readonly KeyFacts[])[];
  readonly ds: readonly KeyFacts[];
}

class World {
  now = 1_000_000;
  keys: KeyFacts[] = [];
  waits: readonly KeyWait[] = [];
  /** RRsets with the numbers of the ZSKs that signed them. */
  rrsets: Set<number>[] = [];
  ds: KeyFacts[] = [];
  dsSince = 0;
  readonly history: (Answers & { readonly at: number })[] = [];
  private readonly lastSigned = new Map<number, number>();
  private readonly everywhere = new Map<number, number>();
  private nextSeq = 1;

  constructor(
    readonly random: () => number,
    roles: readonly KeyRole[] = ['ksk', 'zsk'],
  ) {
    const keys = roles.map((role) => this.add(role, 13, 'active'));
    this.rrsets = Array.from({ length: 20 }, () => new Set([keys.at(-1)!.seq]));
    this.ds = [keys[0]!];
    this.record();
  }

  add(role: KeyRole, algorithm: number, state: KeyState): KeyFacts {
    const seq = this.nextSeq++;
    const key: KeyFacts = { seq, role, algorithm, tag: seq * 7, state, since: this.now };
    this.keys.push(key);
    return key;
  }

  facts(): RolloverFacts {
    return {
      now: this.now,
      dnskeyTtl: DNSKEY_TTL,
      largestTtl: LARGEST_TTL,
      propagation: PROPAGATION,
      lastSignatureReplaced: ({ seq }) =>
        this.rrsets.some((set) => set.has(seq)) ? undefined : (this.lastSigned.get(seq) ?? 0),
      signedEverywhereSince: ({ seq }) => this.everywhere.get(seq),
      parent: { keys: this.ds, since: this.dsSince, ttl: DS_TTL },
    };
  }

  /** One step: keys, then some signatures, then the time. */
  advance(parentActs: boolean): void {
    const { steps, waits } = judgeKeys(this.keys, this.facts());
    this.waits = waits;
    for (const { key, to } of steps) {
      if (to === 'removed') {
        this.keys = this.keys.filter(({ seq }) => seq !== key.seq);
        for (const set of this.rrsets) set.delete(key.seq);
      } else
        this.keys = this.keys.map((known) => (known.seq === key.seq ? { ...key, state: to, since: this.now } : known));
    }
    this.sign();
    if (parentActs) this.followCds();
    this.record();
    this.now += STEP;
  }

  /** Signs a few RRsets anew with the keys that sign now. */
  private sign(): void {
    const roles = this.keys.map((key) => ({ ...key, signs: dutiesOf(key.role, key.state).signs }));
    const signers = roles.filter((key) => signsRecords(key, roles));
    // Signatures of another algorithm that signs, too, are added at once; others are replaced as they come due.
    for (let i = 0; i < 3; i++) {
      const index = Math.floor(this.random() * this.rrsets.length);
      const before = this.rrsets[index]!;
      this.rrsets[index] = new Set(signers.map(({ seq }) => seq));
      for (const seq of before) this.lastSigned.set(seq, this.now);
    }
    for (const { seq } of signers) {
      if (!this.everywhere.has(seq) && this.rrsets.every((set) => set.has(seq))) this.everywhere.set(seq, this.now);
    }
  }

  private followCds(): void {
    const named = this.keys.filter(({ role, state }) => dutiesOf(role, state).isNamedToParent);
    if (named.map(({ seq }) => seq).join() === this.ds.map(({ seq }) => seq).join()) return;
    this.ds = named;
    this.dsSince = this.now;
  }

  private record(): void {
    for (const key of this.keys) if (!this.every.some(({ seq }) => seq === key.seq)) this.every.push(key);
    const duties = (key: KeyFacts) => dutiesOf(key.role, key.state);
    this.history.push({
      at: this.now,
      dnskeys: this.keys.filter((key) => duties(key).isPublished),
      keySigners: this.keys.filter((key) => isEntryRole(key.role) && duties(key).signs && duties(key).isPublished),
      signers: this.rrsets.map((set) => this.every.filter(({ seq }) => set.has(seq))),
      ds: this.ds,
    });
  }

  /** Every key there ever was. */
  private readonly every: KeyFacts[] = [];
}

const has = (keys: readonly KeyFacts[], seq: number): boolean => keys.some((key) => key.seq === seq);
const algorithmsOf = (keys: readonly KeyFacts[]): Set<number> => new Set(keys.map(({ algorithm }) => algorithm));

/** What a resolver could not validate, as texts. */
function failuresOf(history: World['history']): string[] {
  const failures: string[] = [];
  const seenSince = (now: number, ttl: number) =>
    history.filter(({ at }) => at <= now && at >= now - ttl - PROPAGATION + STEP);
  for (const { at: now } of history) {
    const keySets = seenSince(now, DNSKEY_TTL);
    for (const { at, dnskeys, keySigners } of keySets) {
      for (const { ds } of seenSince(now, DS_TTL)) {
        const trusted = ds.some(({ seq }) => has(dnskeys, seq) && has(keySigners, seq));
        if (!trusted) failures.push(`${now}: no DS points to a key of ${at}`);
      }
      for (const { at: signedAt, signers } of seenSince(now, LARGEST_TTL)) {
        for (const set of signers) {
          if (!set.some(({ seq }) => has(dnskeys, seq)))
            failures.push(`${now}: keys of ${at}, signatures of ${signedAt}`);
          // Validators may insist on every algorithm that the DNSKEY RRset signals (RFC 6840 §5.11).
          const missing = [...algorithmsOf(dnskeys)].filter((algorithm) => !algorithmsOf(set).has(algorithm));
          if (missing.length > 0) failures.push(`${now}: algorithm ${missing} of ${at} misses in ${signedAt}`);
        }
      }
    }
  }
  return failures;
}

/** Runs until no key waits; returns the reasons that were given, each once. */
function run(world: World, parentActs: (now: number) => boolean = () => true): string[] {
  const reasons = new Set<string>();
  for (let i = 0; i < 2000; i++) {
    world.advance(parentActs(world.now));
    for (const { waitingFor, until } of world.waits) {
      reasons.add(waitingFor);
      if (until !== undefined && until <= world.now - STEP) throw new Error(`${waitingFor} should be over`);
    }
    if (world.waits.length === 0 && world.keys.every(({ state }) => state === 'active')) return [...reasons];
  }
  throw new Error(`never at rest: ${JSON.stringify(world.waits)}`);
}

for (const seed of [1, 2, 3]) {
  t.test(`ZSK, KSK and algorithm, one after the other, seed ${seed}`, async (t) => {
    const world = new World(randomNumbers(seed));
    for (let i = 0; i < 50; i++) world.advance(true);
    const zsk = world.add('zsk', 13, 'published');
    t.same(run(world), ['dnskey-ttl', 'old-signatures', 'largest-ttl']);
    t.same(world.keys.map(({ seq }) => seq).includes(zsk.seq), true);
    t.equal(world.keys.length, 2);
    const ksk = world.add('ksk', 13, 'published');
    t.same(run(world), ['dnskey-ttl', 'ds-ttl']);
    t.same(
      world.ds.map(({ seq }) => seq),
      [ksk.seq],
    );
    world.add('ksk', 15, 'presigning');
    world.add('zsk', 15, 'presigning');
    t.same(run(world), ['new-signatures', 'largest-ttl', 'dnskey-ttl', 'ds-ttl']);
    t.same(
      world.keys.map(({ role, algorithm, state }) => [role, algorithm, state]),
      [
        ['ksk', 15, 'active'],
        ['zsk', 15, 'active'],
      ],
    );
    for (let i = 0; i < 50; i++) world.advance(true);
    t.same(failuresOf(world.history).slice(0, 5), []);
  });
}

for (const algorithm of [13, 15]) {
  t.test(`a key for everything is replaced by two, of algorithm ${algorithm}`, async (t) => {
    const world = new World(randomNumbers(7), ['csk']);
    for (let i = 0; i < 50; i++) world.advance(true);
    for (const role of ['ksk', 'zsk'] as const)
      world.add(role, algorithm, algorithm === 13 ? 'published' : 'presigning');
    const reasons = run(world);
    t.same(
      reasons,
      algorithm === 13
        ? ['dnskey-ttl', 'ds-ttl', 'largest-ttl']
        : ['new-signatures', 'largest-ttl', 'dnskey-ttl', 'ds-ttl'],
    );
    t.same(
      world.keys.map(({ role, algorithm, state }) => [role, algorithm, state]),
      [
        ['ksk', algorithm, 'active'],
        ['zsk', algorithm, 'active'],
      ],
    );
    for (let i = 0; i < 50; i++) world.advance(true);
    t.same(failuresOf(world.history).slice(0, 5), []);
  });
}

t.test('a parent that is slow, or has the new DS beside the old one for days', async (t) => {
  const world = new World(randomNumbers(4));
  world.add('ksk', 13, 'published');
  const start = world.now;
  const reasons = run(world, (now) => now > start + 400_000);
  t.same(reasons, ['dnskey-ttl', 'parent-ds', 'ds-ttl']);
  t.same(failuresOf(world.history).slice(0, 5), []);
  const both = new World(randomNumbers(5));
  both.add('ksk', 13, 'published');
  for (let i = 0; i < 60; i++) both.advance(false);
  both.ds = [...both.keys];
  for (let i = 0; i < 500; i++) both.advance(false);
  t.match(both.waits, [{ waitingFor: 'parent-ds', until: undefined, key: { state: 'retired' } }]);
});

t.test('the check of the simulation notices a rollover without waits', async (t) => {
  const world = new World(randomNumbers(6));
  for (let i = 0; i < 50; i++) world.advance(true);
  world.keys = world.keys.filter(({ role }) => role === 'ksk');
  world.add('zsk', 13, 'active');
  for (let i = 0; i < 50; i++) world.advance(true);
  t.not(failuresOf(world.history).length, 0);
});
