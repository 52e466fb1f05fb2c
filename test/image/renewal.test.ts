/**
 * New generations that are made in small slices, while the image is changed: at every moment it has the same content as one that never
 * moves to other buffers.
 */
import t from 'tap';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../src/dns/name.js';
import type { RRset } from '../../src/dns/rr.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { findFloor, findLast } from '../../src/image/floor.js';
import { ImageFull } from '../../src/image/heap-room.js';
import {
  bodyAt,
  hashName,
  NodeWord,
  nodeNameAt,
  nodeNameLength,
  RRsetWord,
  rrsetAt,
  rrsetCount,
  viewOf,
  ZoneWord,
} from '../../src/image/layout.js';
import { ImageWriter } from '../../src/image/writer.js';
import { soaRRsets } from '../../src/zone/derive/soa.js';
import { failAt } from '../support/failing-memory.js';
import { seededRandom } from '../support/seeded-random.js';

const NSEC3: Denial = { kind: 'nsec3', iterations: 0, salt: Uint8Array.of(7, 7, 7), optOut: false };
const DENIALS: readonly (Denial | undefined)[] = [undefined, { kind: 'nsec' }, NSEC3];
const APEXES = ['plain.', 'nsec.test.', 'nsec3.test.'].map((name) => parseName(name));
const LABELS = Array.from({ length: 150 }, (_, i) => (i % 9 === 0 ? `deep.n${i >> 1}` : i === 1 ? '*' : `n${i}`));

/** Words of the small image, and records for which there is room in it only as long as little is garbage. */
const WORDS = 1 << 20;
const MANY = WORDS / 128;

/** The same operations on an image that makes new generations and on one that never does. */
class Twins {
  readonly renewing: ImageWriter;
  readonly staying: ImageWriter;
  /** By apex: the zone that is served, and the one that is loaded with the names that it does not have yet. */
  readonly served: (number | undefined)[] = [];
  readonly loading: ({ readonly zone: number; readonly names: Uint8Array[] } | undefined)[] = [];

  constructor(slots: number, lastingWords: number) {
    this.renewing = new ImageWriter({ seed: 5, mostWords: WORDS, slots });
    this.staying = new ImageWriter({ seed: 5, heapWords: lastingWords, slots: 1 << 16 });
  }

  each<Value>(work: (writer: ImageWriter) => Value): Value {
    work(this.renewing);
    return work(this.staying);
  }
}

function hashOf(name: Uint8Array): Uint8Array {
  const hash = new Uint8Array(20);
  for (const [i, octet] of name.entries()) hash[i % 20] = (hash[i % 20]! * 31 + octet) & 0xff;
  return hash;
}

function rrsetsOf(apex: Uint8Array, name: Uint8Array, denial: Denial | undefined, version: number): RRset[] {
  const soa = { mname: apex, rname: apex, refresh: 1, retry: 1, expire: 1, minimum: 60, ttl: 300 };
  const address = { type: Type.a, ttl: 300, rdatas: [Uint8Array.of(192, 0, 2, version & 255)] };
  const nsec = { type: Type.nsec, ttl: 60, rdatas: [apex], signatures: [] };
  const rrsets = name === apex ? soaRRsets({ ...soa, serial: version }) : [address];
  return denial?.kind === 'nsec' && version % 5 > 0 ? [...rrsets, nsec] : [...rrsets];
}

const namesOf = (apex: Uint8Array): Uint8Array[] =>
  LABELS.map((label) => new Uint8Array(Buffer.concat([parseName(`${label}.`).subarray(0, -1), apex])));
const NAMES = APEXES.map(namesOf);

/** All that readers can find, each node as its octets, so that it does not matter where it is. */
function contentOf({ reader }: ImageWriter, names = LABELS.length): string[] {
  const { words, bytes } = reader;
  const hex = (at: number, length: number): string => Buffer.from(bytes.slice(at, at + length)).toString('hex');
  const octets = (node: number): string => {
    if (node === 0) return '-';
    const rrsets = Array.from({ length: rrsetCount(words, node) }, (_, i) => rrsetAt(words, node, i));
    const bodies = rrsets.map((rrset) => hex(bodyAt(words, rrset) * 4, words[rrset + RRsetWord.octets]!));
    return `${words[node + NodeWord.shape]} ${hex(nodeNameAt(words, node), nodeNameLength(words, node))} ${bodies}`;
  };
  return APEXES.flatMap((apex, i) => {
    const record = reader.findZone(hashName(reader.seed, apex), viewOf(apex), 0, apex.length);
    if (record === 0) return ['no zone'];
    const word = (at: number): number => reader.words[record + at]!;
    const zone = word(ZoneWord.number);
    const find = (number: number, name: Uint8Array): string =>
      octets(reader.findNode(number, hashName(reader.seed, name), viewOf(name), 0, name.length));
    const facts = [zone, ...[ZoneWord.cuts, ZoneWord.wildcards, ZoneWord.denial, ZoneWord.expires].map(word)];
    const salt = word(ZoneWord.salt) === 0 ? 0 : reader.words[word(ZoneWord.salt)];
    const index = word(ZoneWord.index);
    const asked = NAMES[i]!.slice(0, names);
    const floors = asked.map((name) => {
      const key = DENIALS[i]?.kind === 'nsec3' ? hashOf(name) : ownerKeyOf(name, apex);
      const padded = viewOf(new Uint8Array([...key, 0, 0, 0, 0]));
      return `${octets(findFloor(reader, index, padded, key.length))} ${reader.floorIsExact}`;
    });
    const nodes = asked.map((name) => find(zone, name));
    return [
      facts.join(),
      `${salt}`,
      octets(word(ZoneWord.apexNode)),
      ...nodes,
      ...floors,
      octets(findLast(reader, index)),
    ];
  });
}

type Pick = (below: number) => number;

function put(
  writer: ImageWriter,
  i: number,
  zone: number,
  name: Uint8Array,
  version: number,
  how: 'put' | 'load',
): void {
  const apex = APEXES[i]!;
  const source = { owner: name, apex, rrsets: rrsetsOf(apex, name, DENIALS[i], version) };
  const hashed = {
    hash: hashOf(name),
    rrset: { type: Type.nsec3, ttl: 60, rdatas: [new Uint8Array(30)], signatures: [] },
  };
  if (how === 'put') writer.putNode(zone, source);
  else writer.loadNode(zone, source);
  if (DENIALS[i]?.kind !== 'nsec3') return;
  if (how === 'put') writer.putHashed(zone, hashed);
  else writer.loadHashed(zone, hashed);
}

function remove(writer: ImageWriter, i: number, zone: number, name: Uint8Array): void {
  writer.removeNode(zone, name);
  if (DENIALS[i]?.kind === 'nsec3') writer.removeHashed(zone, hashOf(name));
}

function beginZone(twins: Twins, i: number, pick: Pick, version: number): void {
  if (twins.loading[i]) return;
  const apex = APEXES[i]!;
  const zone = twins.each((writer) => writer.beginZone(apex, DENIALS[i]));
  twins.each((writer) => put(writer, i, zone, apex, version, 'load'));
  twins.loading[i] = { zone, names: NAMES[i]!.filter(() => pick(3) > 0) };
}

/** Loads some more; a zone that is complete is published, or now and then abandoned. */
function goOn(twins: Twins, i: number, pick: Pick, version: number): void {
  const loading = twins.loading[i];
  if (!loading) return;
  const { zone, names } = loading;
  for (const name of names.splice(0, 40)) twins.each((writer) => put(writer, i, zone, name, version, 'load'));
  if (names.length > 0) return;
  twins.loading[i] = undefined;
  if (pick(4) === 0) {
    twins.each((writer) => writer.abandonZone(zone));
    return;
  }
  const expires = pick(2) > 0;
  twins.each((writer) => {
    writer.publishZone(zone, twins.served[i]);
    if (expires) writer.setExpiry(zone, version);
    writer.commit();
  });
  twins.served[i] = zone;
}

function edit(twins: Twins, i: number, pick: Pick, version: number): void {
  const zone = twins.served[i];
  if (zone === undefined) return;
  const changed = Array.from({ length: 1 + pick(6) }, () => ({ name: NAMES[i]![pick(LABELS.length)]!, how: pick(3) }));
  const isKept = pick(8) > 0;
  twins.each((writer) => {
    put(writer, i, zone, APEXES[i]!, version, 'put');
    for (const { name, how } of changed) {
      if (how === 0) remove(writer, i, zone, name);
      else put(writer, i, zone, name, version, 'put');
    }
    if (isKept) writer.commit();
    else writer.discard();
  });
}

function change(twins: Twins, pick: Pick, version: number): void {
  const i = pick(APEXES.length);
  const zone = twins.served[i];
  const what = pick(40);
  if (what === 0 && zone !== undefined) {
    twins.each((writer) => {
      writer.removeZone(zone);
      writer.commit();
    });
    twins.served[i] = undefined;
  } else if (what === 1 && zone !== undefined) twins.each((writer) => writer.setExpiry(zone, version));
  else if (what === 2) twins.each((writer) => writer.setPlaces({ version }));
  else if (what < 6) beginZone(twins, i, pick, version);
  else if (what < 16) goOn(twins, i, pick, version);
  else edit(twins, i, pick, version);
}

/** Three zones that are served, and three that will replace them. */
function someZones(): Twins {
  const twins = new Twins(256, WORDS);
  for (const [i, names] of NAMES.entries()) {
    const [served, loading] = [0, 1].map(() => twins.each((writer) => writer.beginZone(APEXES[i]!, DENIALS[i])));
    for (const zone of [served!, loading!]) {
      for (const name of [APEXES[i]!, ...names.slice(0, 4)])
        twins.each((writer) => put(writer, i, zone, name, 1, 'load'));
    }
    twins.each((writer) => writer.publishZone(served!));
    twins.served[i] = served;
    twins.loading[i] = { zone: loading!, names: [] };
  }
  twins.each((writer) => writer.commit());
  return twins;
}

const CHANGES: Record<string, (writer: ImageWriter, i: number, served: number, loading: number) => void> = {
  put: (writer, i, served) => put(writer, i, served, NAMES[i]![8]!, 2, 'put'),
  replace: (writer, i, served) => put(writer, i, served, NAMES[i]![2]!, 2, 'put'),
  remove: (writer, i, served) => remove(writer, i, served, NAMES[i]![3]!),
  load: (writer, i, _, loading) => put(writer, i, loading, NAMES[i]![8]!, 2, 'load'),
  expiry: (writer, _, served) => writer.setExpiry(served, 99),
  abandonment: (writer, _, __, loading) => writer.abandonZone(loading),
  publication: (writer, _, served, loading) => writer.publishZone(loading, served),
  removal: (writer, _, served) => writer.removeZone(served),
  places: (writer) => writer.setPlaces({ version: 2 }),
};

t.test('a change after any step is in the new generation', async (t) => {
  for (const [what, changed] of Object.entries(CHANGES)) {
    for (let step = 1, isMade = false; !isMade; step++) {
      const twins = someZones();
      const { renewing, staying } = twins;
      renewing.reserve(128);
      let left = step;
      isMade = !renewing.compact(() => --left <= 0);
      twins.each((writer) => {
        for (const i of APEXES.keys()) changed(writer, i, twins.served[i]!, twins.loading[i]!.zone);
        writer.commit();
      });
      renewing.compact();
      const same = (when: string): void => {
        const [one, other] = [renewing, staying].map((writer) => ({
          ...writer.usage(),
          content: contentOf(writer, 10),
        }));
        const use = ({ nodes, zones, heapOctets, garbageOctets, content }: NonNullable<typeof one>): unknown[] => [
          ...[nodes, zones, heapOctets - garbageOctets, content],
        ];
        t.strictSame(use(one!), use(other!), `${what} after step ${step}, ${when}`);
      };
      same('at once');
      if (what !== 'abandonment' && what !== 'publication') {
        twins.each((writer) => {
          for (const i of APEXES.keys()) {
            const served = what === 'removal' ? undefined : twins.served[i];
            writer.publishZone(twins.loading[i]!.zone, served);
          }
          writer.commit();
        });
        same('when the others are published');
      }
    }
  }
});

t.test('after any changes between its slices a new generation has the same content', async (t) => {
  const random = seededRandom(20261127);
  const pick: Pick = (below) => (random.bytes(1)[0]! * 256 + random.bytes(1)[0]!) % below;
  const twins = new Twins(1 << 15, 1 << 24);
  const { renewing, staying } = twins;
  for (const i of APEXES.keys()) beginZone(twins, i, pick, 1);
  let renewals = 0;
  for (let version = 1; version <= 800; version++) {
    change(twins, pick, version);
    const { generation } = renewing.usage();
    renewing.reserve(MANY, { kind: 'nsec' });
    let left = 1 + pick(40);
    renewing.compact(() => --left <= 0);
    if (renewing.usage().generation === generation) continue;
    renewals++;
    if (!t.strictSame(contentOf(renewing), contentOf(staying), `after change ${version}`)) break;
    const [one, other] = [renewing, staying].map((writer) => writer.usage());
    t.equal(one!.nodes, other!.nodes);
    t.equal(one!.heapOctets - one!.garbageOctets, other!.heapOctets - other!.garbageOctets, 'words in use');
  }
  t.strictSame(contentOf(renewing), contentOf(staying));
  t.ok(renewals > 4, `${renewals} renewals`);
});

/** A zone of so many names, in an image whose slots are nearly used up by them. */
function fullImage(slots: number, denial?: Denial): ImageWriter {
  const writer = new ImageWriter({ seed: 5, slots });
  const apex = APEXES[1]!;
  const zone = writer.beginZone(apex, denial);
  for (let i = 0; i < (slots / 2) * (63 / 64); i++) {
    const owner = new Uint8Array(Buffer.concat([parseName(`h${i}.`).subarray(0, -1), apex]));
    writer.loadNode(zone, {
      owner: i === 0 ? apex : owner,
      apex,
      rrsets: rrsetsOf(apex, i === 0 ? apex : owner, denial, 1),
    });
  }
  writer.publishZone(zone);
  writer.commit();
  return writer;
}

t.test('no step copies more than some nodes', async (t) => {
  const writer = fullImage(1 << 12, { kind: 'nsec' });
  const arrays = Object.getPrototypeOf(Int32Array.prototype) as { set: (...given: unknown[]) => void };
  const { set } = arrays;
  let copied = 0;
  arrays.set = function (...given) {
    copied++;
    set.apply(this, given);
  };
  const steps: number[] = [];
  try {
    for (let isUnderWay = true; isUnderWay; steps.push(copied)) {
      copied = 0;
      isUnderWay = writer.compact(() => true);
    }
  } finally {
    arrays.set = set;
  }
  t.equal(writer.usage().generation, 2);
  t.ok(steps.reduce((sum, count) => sum + count, 0) > 2000);
  t.ok(Math.max(...steps) <= 40, `${Math.max(...steps)} at most`);
});

t.test('an image is filled to its last words', async (t) => {
  const apex = APEXES[0]!;
  for (let mostWords = 1000; mostWords < 1024; mostWords++) {
    const writer = new ImageWriter({ seed: 5, mostWords });
    writer.use = 'small';
    const zone = writer.beginZone(apex);
    writer.loadNode(zone, { owner: apex, apex, rrsets: rrsetsOf(apex, apex, undefined, 1) });
    writer.publishZone(zone);
    writer.commit();
    const fill = (): void => {
      for (const name of NAMES[0]!) {
        put(writer, 0, zone, name, 1, 'put');
        put(writer, 0, zone, apex, 1, 'put');
        writer.commit();
      }
    };
    t.throws(fill, ImageFull, `${mostWords} words`);
    writer.discard();
    t.ok(writer.usage().nodes > 20);
  }
});

t.test('a renewal that fails at any step leaves the image as it is, and the next one succeeds', async (t) => {
  const fresh = contentOf(fullImage(256, { kind: 'nsec' }));
  let failures = 0;
  for (let step = 1, failed = true; failed; step += step < 12 ? 1 : 17) {
    const writer = fullImage(256, { kind: 'nsec' });
    failed = failAt(step, () => {
      while (writer.compact(() => true));
    });
    if (failed) failures++;
    t.equal(writer.usage().generation, failed ? 1 : 2);
    t.strictSame(contentOf(writer), fresh);
    t.notOk(writer.compact());
    t.ok(writer.usage().generation >= 2);
    t.strictSame(contentOf(writer), fresh, 'the next one');
  }
  t.ok(failures > 15, `${failures} failures`);
});
