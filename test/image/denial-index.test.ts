/**
 * The order of denial chains in the image: after any changes, in any memory and after any failure, the search finds the
 * same member as in a sorted list.
 */
import t from 'tap';
import { compareBytes } from '../../src/base/bytes.js';
import { Type } from '../../src/dns/codes.js';
import { nameOfLabels, ownerKeyOf, parseName } from '../../src/dns/name.js';
import type { RRset } from '../../src/dns/rr.js';
import type { Denial } from '../../src/dnssec/denial.js';
import { findFloor, findLast } from '../../src/image/floor.js';
import { viewOf, ZoneWord } from '../../src/image/layout.js';
import { ImageWriter, type WriterOptions } from '../../src/image/writer.js';
import { soaRRsets } from '../../src/zone/derive/soa.js';
import { failAt } from '../support/failing-memory.js';
import { seededRandom } from '../support/seeded-random.js';

const APEX = parseName('example.');
const [SOA] = soaRRsets({
  mname: APEX,
  rname: APEX,
  serial: 1,
  refresh: 1,
  retry: 1,
  expire: 1,
  minimum: 60,
  ttl: 300,
});
const A: RRset = { type: Type.a, ttl: 300, rdatas: [Uint8Array.of(192, 0, 2, 1)] };
const NSEC: RRset = { type: Type.nsec, ttl: 60, rdatas: [APEX], signatures: [] };
const NSEC3: RRset = { type: Type.nsec3, ttl: 60, rdatas: [new Uint8Array(30)], signatures: [] };
const HASHED: Denial = { kind: 'nsec3', iterations: 0, salt: new Uint8Array(3).fill(7), optOut: false };

/** A chain in the image beside its model: sorted keys as hexadecimal text. */
interface Chain {
  readonly writer: ImageWriter;
  zone: number;
  readonly denial: Denial;
  readonly keys: Set<string>;
}

type Octets = { bytes(count: number): Uint8Array };

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex');
}

/** A name of the zone; some have escaped octets in their keys, some are long, many begin alike. */
function randomName(random: Octets): Uint8Array {
  const [shape, count, ...rest] = random.bytes(8);
  const label = (i: number): Uint8Array => {
    const text = Buffer.from(`customer-${(rest[i]! % 5) * 1000 + rest[i + 1]!}`);
    if (shape! % 7 === 0) return new Uint8Array([rest[i]! % 3, rest[i + 1]! % 3]);
    return shape! % 11 === 0 ? new Uint8Array(Buffer.alloc(1 + (rest[i]! % 60), rest[i + 1])) : new Uint8Array(text);
  };
  const labels = Array.from({ length: 1 + (count! % 3) }, (_, i) => label(i));
  return new Uint8Array(Buffer.concat([nameOfLabels(labels).subarray(0, -1), APEX]));
}

function newChain(denial: Denial, options: WriterOptions): Chain {
  const writer = new ImageWriter(options);
  const zone = writer.beginZone(APEX, denial);
  const chain = { writer, zone, denial, keys: new Set<string>() };
  writer.loadNode(zone, { owner: APEX, apex: APEX, rrsets: denial.kind === 'nsec' ? [SOA!, NSEC] : [SOA!] });
  if (denial.kind === 'nsec') chain.keys.add('');
  return chain;
}

/** The key of a member, for hashes of a name itself. */
function keyOf({ denial }: Chain, name: Uint8Array): Uint8Array {
  if (denial.kind === 'nsec') return ownerKeyOf(name, APEX);
  const hash = new Uint8Array(20);
  for (const [i, octet] of name.entries()) hash[i % 20] = (hash[i % 20]! * 31 + octet) & 0xff;
  return hash;
}

function add(chain: Chain, name: Uint8Array, how: 'load' | 'put'): void {
  const { writer, zone, denial, keys } = chain;
  const key = keyOf(chain, name);
  if (how === 'load' && keys.has(hex(key))) return;
  keys.add(hex(key));
  if (denial.kind === 'nsec') {
    const source = { owner: name, apex: APEX, rrsets: [A, NSEC] };
    if (how === 'load') writer.loadNode(zone, source);
    else writer.putNode(zone, source);
  } else if (how === 'load') writer.loadHashed(zone, { hash: key, rrset: NSEC3 });
  else writer.putHashed(zone, { hash: key, rrset: NSEC3 });
}

/** Removes a member; half of the names of an NSEC chain stay without being members. */
function remove(chain: Chain, name: Uint8Array): void {
  const { writer, zone, denial, keys } = chain;
  const key = keyOf(chain, name);
  if (key.length === 0) return;
  keys.delete(hex(key));
  if (denial.kind === 'nsec3') writer.removeHashed(zone, key);
  else if (name.length % 2 === 0) writer.removeNode(zone, name);
  else writer.putNode(zone, { owner: name, apex: APEX, rrsets: [A] });
}

/** Owner key or hash of a node. */
function memberOf({ writer, denial }: Chain, node: number): string | undefined {
  if (node === 0) return undefined;
  const { words, bytes } = writer.reader;
  const at = (node + 4 + (words[node + 2]! >>> 16) * 2) * 4;
  const name = bytes.slice(at, at + (words[node + 2]! & 0xff));
  if (denial.kind === 'nsec') return hex(ownerKeyOf(name, APEX));
  const digits = [...Buffer.from(name.subarray(1, 33)).toString('latin1')].map((c) => Number.parseInt(c, 32));
  const bits = digits.map((digit) => digit.toString(2).padStart(5, '0')).join('');
  return hex(Uint8Array.from({ length: 20 }, (_, i) => Number.parseInt(bits.slice(i * 8, i * 8 + 8), 2)));
}

/** Searches on which image and model disagree. */
function differences(chain: Chain, asked: readonly Uint8Array[]): string[] {
  const { writer, keys } = chain;
  const { reader } = writer;
  const record = reader.zoneSlots.find((word) => word > 1);
  if (record === undefined) throw new Error('the zone is published');
  const root = reader.words[record + ZoneWord.index]!;
  const sorted = [...keys].map((text) => Buffer.from(text, 'hex')).sort(compareBytes);
  const last = memberOf(chain, findLast(reader, root));
  const wrong = last === (sorted.length === 0 ? undefined : hex(sorted.at(-1)!)) ? [] : [`last: ${last}`];
  for (const key of asked) {
    const padded = new Uint8Array(key.length + 4);
    padded.set(key);
    const found = memberOf(chain, findFloor(reader, root, viewOf(padded), key.length));
    const { floorIsExact } = reader;
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareBytes(sorted[middle]!, key) <= 0) low = middle + 1;
      else high = middle;
    }
    const expected = low === 0 ? undefined : hex(sorted[low - 1]!);
    if (found !== expected || floorIsExact !== keys.has(hex(key))) wrong.push(`${hex(key)}: ${found}, not ${expected}`);
  }
  return wrong;
}

for (const denial of [{ kind: 'nsec' } as const, HASHED]) {
  t.test(`random changes of a chain, ${denial.kind}`, async (t) => {
    const random = seededRandom(4711);
    const chain = newChain(denial, { seed: 1, heapWords: 4096, slots: 256 });
    const names = Array.from({ length: 3000 }, () => randomName(random));
    const inOrder = [...names].sort((a, b) => compareBytes(keyOf(chain, a), keyOf(chain, b)));
    for (const name of inOrder.slice(0, 1500)) add(chain, name, 'load');
    const { writer } = chain;
    writer.publishZone(chain.zone);
    writer.commit();
    const asked = names.map((name) => keyOf(chain, name));
    t.strictSame(differences(chain, asked), [], 'after the load');
    for (let round = 0; round < 120; round++) {
      const [size, kind] = random.bytes(2);
      const many = round % 17 === 16 ? 1500 : 1 + (size! % 40);
      const from = ((random.bytes(1)[0]! << 8) | random.bytes(1)[0]!) % names.length;
      const some = Array.from({ length: many }, (_, i) => names[(from + i * 7) % names.length]!);
      for (const name of some)
        if (kind! % 5 < 3) add(chain, name, 'put');
        else remove(chain, name);
      writer.commit();
      if (round % 10 === 3) writer.compact();
      t.strictSame(differences(chain, asked.slice(round * 20, round * 20 + 300)), [], `round ${round}`);
    }
    for (const name of names) remove(chain, name);
    writer.commit();
    t.strictSame(differences(chain, asked), [], 'after removing all');
    const { generation, garbageOctets, heapOctets } = writer.usage();
    t.ok(generation > 2, 'buffers were renewed');
    for (let i = 0; i < 800; i++) {
      add(chain, names[i]!, 'put');
      writer.commit();
      remove(chain, names[i]!);
      writer.commit();
      writer.compact();
    }
    t.ok(writer.usage().heapOctets < heapOctets + (8 << 20), `garbage is known (${garbageOctets}) and collected`);
  });

  t.test(`members that are loaded in any order, ${denial.kind}`, async (t) => {
    const random = seededRandom(12);
    const chain = newChain(denial, { seed: 1, heapWords: 4096, slots: 256 });
    const names = Array.from({ length: 2000 }, () => randomName(random));
    for (const name of names) add(chain, name, 'load');
    // Changes of a zone that is not published yet.
    for (const name of names.slice(0, 100)) remove(chain, name);
    chain.writer.commit();
    chain.writer.publishZone(chain.zone);
    chain.writer.commit();
    const asked = names.map((name) => keyOf(chain, name));
    t.strictSame(differences(chain, asked), []);
    // The whole zone again, with other members.
    const next = { ...chain, keys: new Set<string>(), zone: chain.writer.beginZone(APEX, denial) };
    chain.writer.loadNode(next.zone, {
      owner: APEX,
      apex: APEX,
      rrsets: denial.kind === 'nsec' ? [SOA!, NSEC] : [SOA!],
    });
    if (denial.kind === 'nsec') next.keys.add('');
    for (const name of names.slice(500, 1000)) add(next, name, 'load');
    t.strictSame(differences(chain, asked), [], 'invisible while it is loaded');
    chain.writer.publishZone(next.zone, chain.zone);
    chain.writer.commit();
    t.strictSame(differences(next, asked), []);
  });

  t.test(`after any failure in a commit the chain is as before, ${denial.kind}`, async (t) => {
    const random = seededRandom(99);
    const names = Array.from({ length: 400 }, () => randomName(random));
    const [standing, coming] = [names.slice(0, 200), names.slice(200)];
    let failures = 0;
    for (const most of [3, 200]) {
      for (let step = 1, failed = true; failed; step += step < 20 ? 1 : 23) {
        const chain = newChain(denial, { seed: 1, heapWords: 1 << 12, slots: 256 });
        for (const name of standing) add(chain, name, 'load');
        chain.writer.publishZone(chain.zone);
        chain.writer.commit();
        const asked = names.map((name) => keyOf(chain, name));
        const before = { ...chain, keys: new Set(chain.keys) };
        const stage = (): void => {
          for (const name of coming.slice(0, most)) add(chain, name, 'put');
          for (const name of standing.slice(0, most / 2)) remove(chain, name);
        };
        failed = failAt(step, () => {
          stage();
          chain.writer.commit();
        });
        if (!failed) break;
        failures++;
        t.strictSame(differences(before, asked), [], `${most} changes, step ${step}`);
        chain.writer.discard();
        stage();
        chain.writer.commit();
        t.strictSame(differences(chain, asked), [], 'and the same changes succeed afterwards');
      }
    }
    t.ok(failures > 10, `${failures} failures`);
  });
}
