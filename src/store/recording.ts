/**
 * The statements of a write with their values, in order, as octets. They are packed while the write runs, in blocks
 * that are compressed when full, so that a large write needs little memory. Another copy of the database in the same
 * state becomes equal by running them (replay.ts).
 *
 * Layout: one octet for the version of this format, then blocks: length in octets (32 bits, little-endian) and deflated
 * content (RFC 1951). A block contains statements: index of the SQL text, counted from 0 (a new index is followed by
 * the text); number of changed rows; number of values; values. Numbers in this layout are LEB128; texts and octet
 * strings are preceded by their length.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { BodyDamaged } from './failures.js';
import type { SqlValue } from './sql-value.js';

/** One statement of a write. */
export type Written = readonly [sql: string, params: readonly SqlValue[], changes: number];

/** One write in the log that the copies follow. */
export interface Entry {
  /** Counted from 1, without gaps. */
  readonly number: number;
  readonly id: string;
  /** The identifier of the previous entry; empty for the first. */
  readonly after: string;
  /** Schema version for which the statements were written. */
  readonly schema: number;
  /** {@link Recording.finish}. */
  readonly body: Uint8Array;
}

/** A position in a recording, for undoing what follows. */
export interface Mark {
  readonly pieces: number;
  readonly length: number;
  readonly texts: number;
}

export interface Recording {
  /** Copies the values, because they may be views of memory that is reused. */
  add(sql: string, params: readonly SqlValue[], changes: number): void;
  /** Marks the beginning of a part of the write. Only the latest mark can be used. */
  mark(): Mark;
  /** Removes what was added after the mark. */
  undo(mark: Mark): void;
  /** The body of an entry; undefined when nothing was added. Ends the recording. */
  finish(): Uint8Array | undefined;
}

const FORMAT = 1;
/** The first octet of an entry that migrates the schema; then the version follows (32 bits, little-endian). */
const MIGRATION = 2;
/** Octets of a block before compression. */
const PIECE = 256 * 1024;
const FIRST_BUFFER = 4096;
/**
 * The largest size of an inflated block in octets. One statement may exceed the normal block size, but not this limit.
 */
const MOST_INFLATED = 256 * 1024 * 1024;

enum Tag {
  null = 0,
  number = 1,
  text = 2,
  octets = 3,
}

export function startRecording(): Recording {
  return new PackedRecording();
}

class PackedRecording implements Recording {
  private readonly pieces: Buffer[] = [];
  private readonly texts = new Map<string, number>();
  private buffer = Buffer.allocUnsafe(FIRST_BUFFER);
  private length = 0;
  /** The open block at the time of the latest mark; kept once that block is closed. */
  private openAtMark: Buffer | undefined;
  private latest: Mark | undefined;

  add(sql: string, params: readonly SqlValue[], changes: number): void {
    const needed = params.reduce<number>((sum, value) => sum + mostOctets(value), mostOctets(sql) + 30);
    if (this.length > 0 && this.length + needed > PIECE) this.closePiece();
    this.makeRoom(needed);
    const known = this.texts.get(sql);
    this.putNumber(known ?? this.texts.size);
    if (known === undefined) {
      this.texts.set(sql, this.texts.size);
      this.putText(sql);
    }
    this.putNumber(changes);
    this.putNumber(params.length);
    for (const value of params) this.putValue(value);
  }

  mark(): Mark {
    this.openAtMark = undefined;
    this.latest = { pieces: this.pieces.length, length: this.length, texts: this.texts.size };
    return this.latest;
  }

  undo(mark: Mark): void {
    if (this.openAtMark) {
      this.makeRoomFor(this.openAtMark);
      this.openAtMark = undefined;
    }
    this.pieces.length = mark.pieces;
    this.length = mark.length;
    for (const [sql, index] of this.texts) if (index >= mark.texts) this.texts.delete(sql);
  }

  finish(): Uint8Array | undefined {
    if (this.length > 0) this.closePiece();
    if (this.pieces.length === 0) return undefined;
    return Buffer.concat([
      Buffer.of(FORMAT),
      ...this.pieces.flatMap((piece) => {
        const length = Buffer.allocUnsafe(4);
        length.writeUInt32LE(piece.length);
        return [length, piece];
      }),
    ]);
  }

  private closePiece(): void {
    // A part that began in this block may still be undone.
    if (this.latest && this.latest.pieces === this.pieces.length) {
      this.openAtMark = Buffer.from(this.buffer.subarray(0, this.latest.length));
    }
    this.pieces.push(deflateRawSync(this.buffer.subarray(0, this.length)));
    this.length = 0;
  }

  private makeRoomFor(piece: Buffer): void {
    this.length = 0;
    this.makeRoom(piece.length);
    piece.copy(this.buffer);
  }

  private makeRoom(octets: number): void {
    if (this.length + octets <= this.buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.length + octets, Math.min(2 * this.buffer.length, PIECE)));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }

  private putNumber(value: number): void {
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) this.buffer[this.length++] = (rest % 128) | 128;
    this.buffer[this.length++] = rest;
  }

  private putText(text: string): void {
    this.putNumber(Buffer.byteLength(text));
    this.length += this.buffer.write(text, this.length);
  }

  private putValue(value: SqlValue): void {
    if (value === null) {
      this.buffer[this.length++] = Tag.null;
    } else if (typeof value === 'number') {
      this.buffer[this.length++] = Tag.number;
      this.length = this.buffer.writeDoubleLE(value, this.length);
    } else if (typeof value === 'string') {
      this.buffer[this.length++] = Tag.text;
      this.putText(value);
    } else {
      this.buffer[this.length++] = Tag.octets;
      this.putNumber(value.length);
      this.buffer.set(value, this.length);
      this.length += value.length;
    }
  }
}

/** The largest packed size of a value in octets: UTF-8 needs up to three for one UTF-16 unit. */
function mostOctets(value: SqlValue): number {
  if (value === null) return 1;
  if (typeof value === 'number') return 9;
  return 10 + (typeof value === 'string' ? 3 * value.length : value.length);
}

/** The body of an entry that migrates all copies to a schema version. Each runs the migrations of its own program. */
export function migrationTo(version: number): Uint8Array {
  const body = Buffer.alloc(5);
  body[0] = MIGRATION;
  body.writeUInt32LE(version, 1);
  return body;
}

/** The schema version to which an entry migrates; undefined for an entry of statements. */
export function migrationOf(body: Uint8Array): number | undefined {
  if (body[0] !== MIGRATION || body.length !== 5) return undefined;
  return Buffer.from(body.buffer, body.byteOffset, body.byteLength).readUInt32LE(1);
}

/** The statements of a body, in order. Throws {@link BodyDamaged} when it is not a complete body in this format. */
export function* statementsOf(body: Uint8Array): Generator<Written> {
  const octets = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (octets[0] !== FORMAT) throw damaged(`its format is ${octets[0] ?? 'missing'}, but only ${FORMAT} is supported`);
  const texts: string[] = [];
  for (let at = 1; at < octets.length; ) {
    const end = at + 4 <= octets.length ? at + 4 + octets.readUInt32LE(at) : Infinity;
    if (end > octets.length) throw damaged('it ends too early');
    yield* statementsOfPiece(inflate(octets.subarray(at + 4, end)), texts);
    at = end;
  }
}

function inflate(piece: Buffer): Buffer {
  try {
    return inflateRawSync(piece, { maxOutputLength: MOST_INFLATED });
  } catch (error) {
    throw damaged((error as Error).message);
  }
}

function* statementsOfPiece(piece: Buffer, texts: string[]): Generator<Written> {
  const reader = new PieceReader(piece);
  while (!reader.atEnd) {
    const index = reader.number();
    if (index === texts.length) texts.push(reader.text());
    const sql = texts[index];
    if (sql === undefined) throw damaged('it refers to a text that it does not contain');
    const changes = reader.number();
    const params = Array.from({ length: reader.count() }, () => reader.value());
    yield [sql, params, changes];
  }
}

class PieceReader {
  private at = 0;

  constructor(private readonly piece: Buffer) {}

  get atEnd(): boolean {
    return this.at === this.piece.length;
  }

  number(): number {
    let value = 0;
    for (let unit = 1; unit <= Number.MAX_SAFE_INTEGER; unit *= 128) {
      const octet = this.take(1)[0]!;
      value += (octet & 127) * unit;
      if (octet < 128) return value;
    }
    throw damaged('it contains a number that is too large');
  }

  /** Number of values that follow; each takes one octet or more. */
  count(): number {
    const count = this.number();
    if (count > this.piece.length - this.at) throw damaged('it ends too early');
    return count;
  }

  text(): string {
    return this.take(this.number()).toString();
  }

  value(): SqlValue {
    const tag = this.take(1)[0];
    if (tag === Tag.null) return null;
    if (tag === Tag.number) return this.take(8).readDoubleLE();
    if (tag === Tag.text) return this.text();
    if (tag === Tag.octets) return this.take(this.number());
    throw damaged('it contains a value of an unknown kind');
  }

  private take(length: number): Buffer {
    if (length > this.piece.length - this.at) throw damaged('it ends too early');
    return this.piece.subarray(this.at, (this.at += length));
  }
}

function damaged(reason: string): BodyDamaged {
  return new BodyDamaged(`it cannot be read: ${reason}`);
}
