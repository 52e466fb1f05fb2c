/** Rows of signatures that one statement stores: the same as one statement for each. */
import t from 'tap';
import {
  type NewSignatures,
  type PackedSignatures,
  putPackedSignatures,
  SignaturePacker,
} from '../../../src/store/dnssec/packed-signatures.js';
import { dueSignatures, putSignatures, signaturesOfZone } from '../../../src/store/dnssec/signatures.js';
import { IN_MEMORY, openStore, type Store } from '../../../src/store/driver.js';
import { migrate } from '../../../src/store/migrate.js';
import { placeOfSet } from '../../../src/store/records/places.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';
import { writeNow } from '../../support/write-now.js';

const ONE_BY_ONE = placeOfSet(1);
const PACKED = placeOfSet(2);
const LATE = 4_000_000_000;

function openEmpty(): Store {
  const store = openStore(IN_MEMORY);
  migrate(store, new TestClock(), seededRandom(1));
  return store;
}

const row = (key: string, firstExpiry: number | null, octets: Uint8Array, keepsEnd = false): NewSignatures => {
  return { ownerKey: Buffer.from(key, 'latin1'), firstExpiry, octets, keepsEnd };
};

function packsOf(rows: readonly NewSignatures[]): PackedSignatures[] {
  const packer = new SignaturePacker();
  for (const each of rows) packer.add(each);
  return packer.take();
}

/** Everything at a place, with the order in which signatures end. */
function contentOf(store: Store, place: number): unknown {
  const rows = [...signaturesOfZone(store, place, new Uint8Array(0))].map(({ owner_key: key, octets }) => [
    Buffer.from(key).toString('latin1'),
    Buffer.from(octets).toString('hex'),
  ]);
  return { rows, due: dueSignatures(store, place, LATE, 1000).map((key) => Buffer.from(key).toString('latin1')) };
}

t.test('rows of all kinds, new and in the place of others', (t) => {
  const store = openEmpty();
  const long = Buffer.alloc(200_000, 9);
  const first = [
    row('', 1_800_000_000, Buffer.of(0)),
    row('a\0', null, new Uint8Array(0)),
    row('\xfe\xfe'.repeat(500), 1_800_000_001, Buffer.of(1, 0, 255)),
    row('long\0', 1_800_000_002, long),
    ...Array.from({ length: 300 }, (_, i) =>
      row(`n${i}\0`, 1_700_000_000 + ((i * 7919) % 1000), Buffer.from([i & 255, 7])),
    ),
  ];
  const second = first.map(({ ownerKey, firstExpiry }, i) =>
    i % 2 === 0
      ? { ownerKey, firstExpiry, octets: Buffer.of(i & 255), keepsEnd: true }
      : { ownerKey, firstExpiry: 1_900_000_000 - i, octets: Buffer.of(i & 255, 1), keepsEnd: false },
  );
  for (const rows of [first, second]) {
    writeNow(store, () => {
      for (const { ownerKey, firstExpiry, octets } of rows) {
        putSignatures(store, ONE_BY_ONE, ownerKey, firstExpiry, octets);
      }
      for (const pack of packsOf(rows)) putPackedSignatures(store, PACKED, pack);
    });
    t.strictSame(contentOf(store, PACKED), contentOf(store, ONE_BY_ONE));
  }
  store.close();
  t.end();
});

t.test('packs are small, and nothing is packed twice', (t) => {
  const rows = Array.from({ length: 1000 }, (_, i) => row(`n${i}\0`, i, Buffer.alloc(1000), i % 2 === 0));
  const packs = packsOf(rows);
  t.ok(packs.every(({ octets }) => octets.length < 70_000));
  t.equal(
    packs.reduce((sum, { numbers }) => sum + Object.keys(JSON.parse(numbers) as object).length, 0),
    rows.length,
  );
  t.same(packsOf([]), []);
  const packer = new SignaturePacker();
  packer.add(rows[0]!);
  t.equal(packer.take().length, 1);
  t.same(packer.take(), []);
  t.end();
});
