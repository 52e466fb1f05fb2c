/** Bounds-checked reading and writing of octets, and the text encodings of RFC 4648 that DNS presentation form uses. */

/** A read went past the end of a buffer; `offset` is the octet at which the read began. */
class BytesError extends Error {
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(message);
    this.name = 'BytesError';
  }
}

/** A cursor over octets, big-endian like all of DNS. Every read past the end throws {@link BytesError}. */
export class ByteReader {
  at: number;
  readonly end: number;

  constructor(
    readonly bytes: Uint8Array,
    start = 0,
    end: number = bytes.length,
  ) {
    this.at = start;
    this.end = end;
  }

  get remaining(): number {
    return this.end - this.at;
  }

  private take(count: number): number {
    const start = this.at;
    if (start + count > this.end) throw new BytesError(`need ${count} octets, ${this.end - start} left`, start);
    this.at = start + count;
    return start;
  }

  u8(): number {
    return this.bytes[this.take(1)]!;
  }

  u16(): number {
    const start = this.take(2);
    return (this.bytes[start]! << 8) | this.bytes[start + 1]!;
  }

  u32(): number {
    const start = this.take(4);
    const b = this.bytes;
    return b[start]! * 0x1000000 + ((b[start + 1]! << 16) | (b[start + 2]! << 8) | b[start + 3]!);
  }

  skip(count: number): void {
    this.take(count);
  }

  /** A view (not a copy) of the next `count` octets. */
  octets(count: number): Uint8Array {
    const start = this.take(count);
    return this.bytes.subarray(start, start + count);
  }

  /** A view of the remaining octets. */
  rest(): Uint8Array {
    return this.octets(this.remaining);
  }
}

/** Big-endian output that grows as needed. */
export class ByteWriter {
  private buffer: Uint8Array;
  private used = 0;

  constructor(capacity = 64) {
    this.buffer = new Uint8Array(capacity);
  }

  get length(): number {
    return this.used;
  }

  private room(count: number): number {
    const start = this.used;
    if (start + count > this.buffer.length) {
      const grown = new Uint8Array(Math.max(this.buffer.length * 2, start + count));
      grown.set(this.buffer);
      this.buffer = grown;
    }
    this.used = start + count;
    return start;
  }

  u8(value: number): void {
    const start = this.room(1);
    this.buffer[start] = value;
  }

  u16(value: number): void {
    const start = this.room(2);
    this.buffer[start] = value >>> 8;
    this.buffer[start + 1] = value;
  }

  u32(value: number): void {
    const start = this.room(4);
    const b = this.buffer;
    b[start] = value >>> 24;
    b[start + 1] = value >>> 16;
    b[start + 2] = value >>> 8;
    b[start + 3] = value;
  }

  octets(value: Uint8Array): void {
    const start = this.room(value.length);
    this.buffer.set(value, start);
  }

  /** Writes one octet for each character. */
  latin1(text: string): void {
    const start = this.room(text.length);
    const b = this.buffer;
    for (let i = 0; i < text.length; i++) b[start + i] = text.charCodeAt(i);
  }

  /** Overwrites two earlier octets, for lengths that are known only afterwards. */
  patchU16(at: number, value: number): void {
    this.buffer[at] = value >>> 8;
    this.buffer[at + 1] = value;
  }

  /** A copy of the written octets. */
  bytes(): Uint8Array {
    return this.buffer.slice(0, this.used);
  }

  reset(): void {
    this.used = 0;
  }
}

/** Lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex');
}

/** Octets of a hexadecimal text; undefined for other text (odd length, other characters). */
export function fromHex(text: string): Uint8Array | undefined {
  if (text.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(text)) return undefined;
  return plain(Buffer.from(text, 'hex'));
}

/** Base 64 with padding (RFC 4648 §4). */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Octets of a base 64 text, or undefined. Only canonical input with full padding is accepted (RFC 4648 §3.5). */
export function fromBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === (text.length / 4) * 3 - (text.match(/=*$/)?.[0].length ?? 0) ? plain(bytes) : undefined;
}

/** `count` octets written in hexadecimal digits or base 64; undefined for other text. */
export function parseOctets(text: string, count: number): Uint8Array | undefined {
  const octets = text.length === count * 2 ? fromHex(text) : fromBase64(text);
  return octets?.length === count ? octets : undefined;
}

const BASE32HEX = '0123456789abcdefghijklmnopqrstuv';

/** Base 32 with the extended hex alphabet, lower case, no padding (RFC 4648 §7, RFC 5155 §3.3). */
export function toBase32Hex(bytes: Uint8Array): string {
  let out = '';
  let bits = 0;
  let held = 0;
  for (const octet of bytes) {
    held = ((held << 8) | octet) & 0xfff;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      out += BASE32HEX[(held >>> bits) & 31];
    }
  }
  if (bits > 0) out += BASE32HEX[(held << (5 - bits)) & 31];
  return out;
}

/** Octets of a base 32 hex text without padding, or undefined. */
export function fromBase32Hex(text: string): Uint8Array | undefined {
  const out = new Uint8Array(Math.floor((text.length * 5) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const character of text.toLowerCase()) {
    const value = BASE32HEX.indexOf(character);
    if (value < 0) return undefined;
    held = ((held << 5) | value) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      out[at++] = held >>> bits;
    }
  }
  return bits >= 5 || (held & ((1 << bits) - 1)) !== 0 ? undefined : out;
}

/** Byte-wise equality. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/**
 * Compares octet strings as unsigned numbers, a prefix first (RFC 4034 §6.3). Returns a negative number, zero or a
 * positive number.
 */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const out = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    out.set(part, at);
    at += part.length;
  }
  return out;
}

/** A Buffer's octets as a plain Uint8Array with its own storage, because Buffers share a pool. */
function plain(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}

/** The octets of a UUID in text form. */
export function uuidOctets(id: string): Uint8Array {
  return new Uint8Array(Buffer.from(id.replaceAll('-', ''), 'hex'));
}

/**
 * The same text in memory of its own. A part that was cut out of a long text keeps all of that text in memory for as long as
 * the part is kept.
 */
export function detachedText(text: string): string {
  return Buffer.from(text).toString();
}
