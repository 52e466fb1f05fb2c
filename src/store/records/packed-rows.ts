/**
 * Rows of an import as octets and a list of numbers, instead of an object and a dozen values for each: so they go from one thread to
 * another, and into the database by one statement for some hundred of them. Giving a statement a value takes longer than finding it
 * among octets.
 *
 * A row in the octets: room for its identifier, its TTL in digits, owner key, name, content, rdata and, unless it is the rdata, its
 * duplicate key. If it has settings, a comment or tags, all three follow as a JSON list, behind the length of that in digits.
 */
import { invariant } from '../../base/errors.js';
import type { RowOf } from '../columns.js';
import { RECORD } from './records.js';

const TIMES = ['created_at', 'modified_at', 'comment_modified_at', 'tags_modified_at'] as const;
const IMPORTED = RECORD.without('id', 'private_routing', ...TIMES);

/** The columns that come from a zone file. Consecutive rows of one owner share the objects of its key and name. */
export type ImportedRow = RowOf<typeof IMPORTED>;

export interface PackedRows {
  readonly count: number;
  readonly octets: Uint8Array;
  /** Where each row begins, with the room for its identifier. */
  readonly starts: Uint32Array;
  /** A JSON object with a member for each row, in order: its name and its value hold the numbers of {@link SHIFT}. */
  readonly numbers: string;
}

/** Rows that one statement stores; it takes about a millisecond. */
const MOST_ROWS = 256;
const MOST_OCTETS = 64 << 10;
const ID_OCTETS = 16;
/** Of a TTL, and of the length of what few rows have. */
const DIGITS = 11;
/** Of the lengths of owner key, name, duplicate key, rdata and content. */
const BITS = { key: 10, name: 10, other: 7, rdata: 16, content: 20 };
/** Places in the first number of a row, and in the second one; both stay below 2^53, and so exact. */
const SHIFT = { start: 29, key: 19, name: 9, other: 2, more: 1, type: 36, rdata: 20 };
const MOST_START = 2 ** 24;
/** The length of a duplicate key that is the rdata. */
const SAME = 2 ** BITS.other - 1;

/** A call to copy fewer takes longer. */
const MANY_OCTETS = 32;

export class RowPacker {
  private octets = Buffer.allocUnsafeSlow(2 * MOST_OCTETS);
  private at = 0;
  private starts: number[] = [];
  private numbers = '';
  private ttl = 0;
  private ttlDigits = digitsOf(0);
  private packs: PackedRows[] = [];
  /** Rows that wait to be taken. */
  count = 0;

  add(row: ImportedRow): void {
    const { owner_key, name, content, rdata, rdata_key, settings, comment, tags } = row;
    const hasMore = settings !== null || comment !== null || tags !== null;
    const more = hasMore ? Buffer.from(JSON.stringify([settings, comment, tags])) : NOTHING;
    const most = owner_key.length + name.length + 3 * content.length + rdata.length + rdata_key.length + more.length;
    this.makeRoom(ID_OCTETS + 2 * DIGITS + most);
    const start = this.at;
    invariant(start < MOST_START, 'packs are small');
    this.put(NO_ID);
    this.putTtl(row.ttl);
    this.put(owner_key);
    const nameOctets = this.putText(name);
    const contentOctets = this.putText(content);
    invariant(contentOctets < 2 ** BITS.content, 'content has at most four times the octets of rdata');
    this.put(rdata);
    const other = rdata_key === rdata ? SAME : rdata_key.length;
    if (other !== SAME) this.put(rdata_key);
    if (hasMore) {
      this.put(digitsOf(more.length));
      this.put(more);
    }
    const lengths = owner_key.length * 2 ** SHIFT.key + nameOctets * 2 ** SHIFT.name + other * 2 ** SHIFT.other;
    const a = start * 2 ** SHIFT.start + lengths + (hasMore ? 2 ** SHIFT.more : 0) + row.proxied;
    const b = row.type * 2 ** SHIFT.type + rdata.length * 2 ** SHIFT.rdata + contentOctets;
    this.numbers += `${this.starts.length === 0 ? '' : ','}"${a}":${b}`;
    this.starts.push(start);
    this.count++;
    if (this.starts.length === MOST_ROWS || this.at >= MOST_OCTETS) this.close();
  }

  /** The rows that were added since the last time. */
  take(): PackedRows[] {
    if (this.starts.length > 0) this.close();
    const { packs } = this;
    this.packs = [];
    this.count = 0;
    return packs;
  }

  private close(): void {
    const { starts, numbers } = this;
    const octets = new Uint8Array(this.octets.subarray(0, this.at));
    this.packs.push({ count: starts.length, octets, starts: Uint32Array.from(starts), numbers: `{${numbers}}` });
    this.at = 0;
    this.starts = [];
    this.numbers = '';
  }

  private makeRoom(more: number): void {
    if (this.at + more <= this.octets.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.octets.length, this.at + more));
    this.octets.copy(larger, 0, 0, this.at);
    this.octets = larger;
  }

  private put(bytes: Uint8Array): void {
    const { octets, at } = this;
    if (bytes.length > MANY_OCTETS) octets.set(bytes, at);
    else for (let i = 0; i < bytes.length; i++) octets[at + i] = bytes[i]!;
    this.at += bytes.length;
  }

  /** Nearly always that of the row before. */
  private putTtl(ttl: number): void {
    if (ttl !== this.ttl) {
      this.ttl = ttl;
      this.ttlDigits = digitsOf(ttl);
    }
    this.put(this.ttlDigits);
  }

  /** In UTF-8; returns how many octets that are. */
  private putText(text: string): number {
    const { octets, at } = this;
    const { length } = text;
    let i = 0;
    if (length <= MANY_OCTETS) {
      for (; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code > 0x7f) break;
        octets[at + i] = code;
      }
    }
    const written = i === length ? length : octets.write(text, at);
    this.at += written;
    return written;
  }
}

const NO_ID = new Uint8Array(ID_OCTETS);
const NOTHING = new Uint8Array(0);

function digitsOf(value: number): Uint8Array {
  return Buffer.from(String(value).padStart(DIGITS));
}

const KEY_AT = `start + ${ID_OCTETS + DIGITS + 1}`;
const NAME_AT = `${KEY_AT} + key_octets`;
const CONTENT_AT = `${NAME_AT} + name_octets`;
const RDATA_AT = `${CONTENT_AT} + content_octets`;
const OTHER_AT = `${RDATA_AT} + rdata_octets`;
const MORE_AT = `${OTHER_AT} + CASE other_octets WHEN ${SAME} THEN 0 ELSE other_octets END`;
const part = (at: string, octets: string | number): string => `substr(octets, ${at}, ${octets})`;
const text = (octets: string): string => `CAST(${octets} AS TEXT)`;
const number = (digits: string): string => `CAST(${digits} AS INTEGER)`;
const MORE = text(part(`${MORE_AT} + ${DIGITS}`, number(part(MORE_AT, DIGITS))));
const member = (index: number): string => `CASE has_more WHEN 1 THEN ${MORE} ->> ${index} END`;

/** The columns, by what SQL finds among the octets. */
const VALUES: Readonly<Record<keyof ImportedRow | 'id', string>> = {
  id: part('start + 1', ID_OCTETS),
  owner_key: part(KEY_AT, 'key_octets'),
  name: text(part(NAME_AT, 'name_octets')),
  type: 'type',
  content: text(part(CONTENT_AT, 'content_octets')),
  rdata: part(RDATA_AT, 'rdata_octets'),
  rdata_key: `CASE other_octets WHEN ${SAME} THEN ${part(RDATA_AT, 'rdata_octets')} ELSE ${part(OTHER_AT, 'other_octets')} END`,
  ttl: number(part(`start + ${ID_OCTETS + 1}`, DIGITS)),
  proxied: 'proxied',
  settings: member(0),
  comment: member(1),
  tags: member(2),
};

const bits = (word: string, shift: number, count: number): string => `(${word} >> ${shift}) & ${2 ** count - 1}`;

/**
 * SQL for packed rows: the columns, and a table with them and where each row begins, whose only parameters are octets and numbers.
 * `LIMIT` keeps SQLite from computing numbers again for each column that needs them.
 */
export const UNPACKED = {
  list: Object.keys(VALUES).join(', '),
  table: `(
    SELECT start, ${Object.entries(VALUES).map(([name, value]) => `${value} AS ${name}`)}
    FROM (
      SELECT octets, a >> ${SHIFT.start} AS start, ${bits('a', SHIFT.key, BITS.key)} AS key_octets,
        ${bits('a', SHIFT.name, BITS.name)} AS name_octets, ${bits('a', SHIFT.other, BITS.other)} AS other_octets,
        ${bits('a', SHIFT.more, 1)} AS has_more, a & 1 AS proxied,
        b >> ${SHIFT.type} AS type, ${bits('b', SHIFT.rdata, BITS.rdata)} AS rdata_octets, ${bits('b', 0, BITS.content)} AS content_octets
      FROM (
        SELECT octets, CAST(key AS INTEGER) AS a, value AS b
        FROM (SELECT ? AS octets, ? AS numbers), json_each(numbers) LIMIT -1
      ) LIMIT -1
    )
  )`,
};
