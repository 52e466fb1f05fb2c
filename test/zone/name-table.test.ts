/** The table of names: what it finds, and that nobody can choose names that have the same hash. */
import t from 'tap';
import { hashOf, NameTable } from '../../src/zone/name-table.js';

/** Where FNV-1a begins. */
const PUBLISHED = 0x811c9dc5 | 0;
/** From there, behind a length of 40, either of a pair leads to the same state. */
const PAIRS = [
  ['btn9kr0wjn', 'sakoru9xs2'],
  ['fdj58urd7x', 'e5lsrvf9wl'],
  ['uzon3r8gfy', '9m4fg85ed6'],
  ['bcll7n0cz6', 'fsrizfssyz'],
] as const;

t.test('names that have the same hash where it begins as published', async (t) => {
  const labels = PAIRS.reduce<string[]>(
    (before, pair) => before.flatMap((label) => pair.map((part) => label + part)),
    [''],
  );
  const wires = labels.map((label) => Uint8Array.of(label.length, ...Buffer.from(label)));
  const hashes = (seed?: number): number => new Set(wires.map((wire) => hashOf(wire, 0, wire.length, seed))).size;
  t.equal(hashes(PUBLISHED), 1, 'they do');
  t.equal(hashes(7), labels.length, 'elsewhere they do not');
  t.ok(hashes() > 1, 'and it begins elsewhere');
  const table = new NameTable();
  t.strictSame(
    wires.map((wire) => table.add(wire, 0, wire.length)),
    wires.map((_, number) => number),
  );
  t.ok(wires.every((wire, number) => table.find(wire, 0, wire.length) === number));
});
