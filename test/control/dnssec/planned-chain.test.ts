/** The circle of hashes as a plan will leave it: the same as when the plan has been stored. */
import t from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { plannedChain, UNSIGNED } from '../../../src/control/dnssec/signing/planned-chain.js';
import { rowsOfZone } from '../../../src/control/dnssec/signing/signed-rows.js';
import { placeOfSet } from '../../../src/store/records/places.js';
import { stageRecordSet } from '../../../src/store/records/record-sets.js';
import { throwDice } from '../../support/dice.js';
import { startControl } from '../fixture.js';

/** SHA-1. */
const hash = (octet: number): Uint8Array => new Uint8Array(20).fill(octet, 0, 1);

for (const [what, stored, added, removed] of [
  ['names come', [20, 60], [10, 30, 31, 90], []],
  ['names go, also the first and the last', [10, 20, 60, 90], [], [10, 60, 90]],
  ['names come and go', [10, 20, 60, 90], [5, 59, 61], [10, 60]],
  ['all names are others', [10, 20], [15, 25], [10, 20]],
  ['the first names', [], [7, 3], []],
] as const) {
  t.test(what, async (t) => {
    const { ctx } = await startControl(t);
    const { store } = ctx;
    const place = await store.write(() => {
      const at = placeOfSet(stageRecordSet(store, 1));
      for (const octet of stored) rowsOfZone(store, at).ensureHashed(hash(octet), hash(octet));
      return at;
    });
    const planned = plannedChain(store, place);
    for (const octet of added) planned.add(hash(octet));
    for (const octet of removed) planned.remove(hash(octet));
    const around = Array.from({ length: 100 }, (_, octet) => hash(octet));
    const read = (chain: Pick<typeof planned, 'hashAfter' | 'hashedBefore'>): string[] =>
      around.map((at) => `${toHex(at)}: ${toHex(chain.hashAfter(at))} ${toHex(chain.hashedBefore(at)!.hash)}`);
    const plan = read(planned);
    await store.write(() => {
      for (const octet of added) rowsOfZone(store, place).ensureHashed(hash(octet), hash(octet));
      for (const octet of removed) rowsOfZone(store, place).removeHashed(hash(octet));
    });
    t.strictSame(plan, read(rowsOfZone(store, place)));
    for (const octet of added) t.strictSame(planned.hashedBefore(hash(octet + 1))!.octets, UNSIGNED);
  });
}

t.test('names come and go in any order', async (t) => {
  const { ctx } = await startControl(t);
  const { store } = ctx;
  const dice = throwDice(3);
  for (let round = 0; round < 6; round++) {
    const place = await store.write(() => {
      const at = placeOfSet(stageRecordSet(store, 1));
      for (let octet = 0; octet < 40; octet++)
        if (dice.below(3) > 0) rowsOfZone(store, at).ensureHashed(hash(octet), hash(octet));
      return at;
    });
    const planned = plannedChain(store, place);
    const rows = rowsOfZone(store, place);
    const steps = [{ at: hash(50), comes: true }];
    for (let step = 0; step < 60; step++) steps.push({ at: hash(dice.below(40)), comes: dice.below(4) === 0 });
    for (const { at, comes } of steps) comes ? planned.add(at) : planned.remove(at);
    const around = Array.from({ length: 60 }, (_, octet) => hash(octet));
    const read = (chain: Pick<typeof planned, 'hashAfter' | 'hashedBefore'>): string[] =>
      around.map((at) => `${toHex(at)}: ${toHex(chain.hashAfter(at))} ${toHex(chain.hashedBefore(at)!.hash)}`);
    const plan = read(planned);
    await store.write(() => {
      for (const { at, comes } of steps) comes ? rows.ensureHashed(at, at) : rows.removeHashed(at);
    });
    t.strictSame(plan, read(rows));
  }
});
