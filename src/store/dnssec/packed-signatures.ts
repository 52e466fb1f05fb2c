/**
 * Rows of signatures as octets and numbers, of which one statement stores some dozen: giving a statement the values of each row takes
 * about as long as storing it (records/packed-rows.ts does the same for imports).
 */
import { perStore, type Store } from '../driver.js';
import { type Place, SIGNATURE_SET_AT } from '../records/places.js';

/** The row of an owner. */
export interface NewSignatures {
  readonly ownerKey: Uint8Array;
  /** When its first signature ends, seconds since 1970; null without signatures. */
  readonly firstExpiry: number | null;
  readonly octets: Uint8Array;
  /** Whether it takes the place of a row with the same first end: the index of these, in which rows stand far apart, stays as it is. */
  readonly keepsEnd: boolean;
}

/** Rows of which all keep their first ends, or none. */
export interface PackedSignatures {
  readonly keepsEnds: boolean;
  /** For each row its owner key, and behind that what it holds. */
  readonly octets: Uint8Array;
  /** A JSON object with a member for each row: {@link SHIFT} says what its name holds; its value is the first end. */
  readonly numbers: string;
}

/** Rows and octets that one statement stores; it takes some tenths of a millisecond. */
const MOST_ROWS = 64;
const MOST_OCTETS = 64 << 10;
/** Of the lengths of an owner key and of what its row holds, in a number that stays below 2^53, and so exact. */
const BITS = { key: 10, row: 26 };
const SHIFT = { start: BITS.key + BITS.row, key: BITS.row };

export class SignaturePacker {
  private readonly rows = { kept: [] as NewSignatures[], moved: [] as NewSignatures[] };
  private octets = { kept: 0, moved: 0 };
  private packs: PackedSignatures[] = [];

  add(row: NewSignatures): void {
    const kind = row.keepsEnd ? 'kept' : 'moved';
    this.rows[kind].push(row);
    this.octets[kind] += row.ownerKey.length + row.octets.length;
    if (this.rows[kind].length === MOST_ROWS || this.octets[kind] >= MOST_OCTETS) this.close(kind);
  }

  /** What was added since the last time, about in order. */
  take(): PackedSignatures[] {
    this.close('kept');
    this.close('moved');
    const { packs } = this;
    this.packs = [];
    return packs;
  }

  private close(kind: 'kept' | 'moved'): void {
    const rows = this.rows[kind].splice(0);
    if (rows.length === 0) return;
    const octets = new Uint8Array(this.octets[kind]);
    this.octets[kind] = 0;
    let at = 0;
    const members = rows.map(({ ownerKey, firstExpiry, octets: row }) => {
      const name = at * 2 ** SHIFT.start + ownerKey.length * 2 ** SHIFT.key + row.length;
      octets.set(ownerKey, at);
      octets.set(row, at + ownerKey.length);
      at += ownerKey.length + row.length;
      return `"${name}":${firstExpiry}`;
    });
    this.packs.push({ keepsEnds: kind === 'kept', octets, numbers: `{${members.join()}}` });
  }
}

/**
 * SQL for packed rows, whose only parameters are octets and numbers. `LIMIT` keeps SQLite from computing numbers again for each column
 * that needs them.
 */
const UNPACKED = {
  columns: 'substr(octets, start + 1, key_octets), first_expiry, substr(octets, start + 1 + key_octets, row_octets)',
  table: `(
    SELECT octets, a >> ${SHIFT.start} AS start, (a >> ${SHIFT.key}) & ${2 ** BITS.key - 1} AS key_octets,
      a & ${2 ** BITS.row - 1} AS row_octets, first_expiry
    FROM (
      SELECT octets, CAST(key AS INTEGER) AS a, value AS first_expiry
      FROM (SELECT ? AS octets, ? AS numbers), json_each(numbers) LIMIT -1
    ) LIMIT -1
  )`,
};

/** Without a condition, `ON` would belong to the table. */
const PUT = `INSERT INTO signatures (signature_set, owner_key, first_expiry, octets)
   SELECT ${SIGNATURE_SET_AT}, ${UNPACKED.columns} FROM ${UNPACKED.table} WHERE true
   ON CONFLICT (signature_set, owner_key) DO UPDATE SET octets = excluded.octets`;

const statements = perStore((store) => ({
  keep: store.prepare<[zone: Place, octets: Uint8Array, numbers: string]>(PUT),
  move: store.prepare<[zone: Place, octets: Uint8Array, numbers: string]>(
    `${PUT}, first_expiry = excluded.first_expiry`,
  ),
}));

/** Stores rows, which take the place of those of the same owners. */
export function putPackedSignatures(store: Store, zone: Place, { keepsEnds, octets, numbers }: PackedSignatures): void {
  const { keep, move } = statements(store);
  (keepsEnds ? keep : move).run(zone, octets, numbers);
}
