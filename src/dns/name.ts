/**
 * Domain names (RFC 1035 §3.1, §5.1): wire form, text form, order and ancestry.
 *
 * Three representations, never mixed:
 * - wire name: `Uint8Array`, length octets and labels up to and including the root's zero octet, never compressed, case kept;
 * - `Fqdn`: text without the final dot and in lower case, as the v4 API shows it (the root is '');
 * - owner key: octets whose plain byte order is the canonical order of RFC 4034 §6.1, relative to the zone's apex. This is
 *   what the store sorts and searches by: descendants of a name are one range of keys.
 */
import { equalBytes } from '../base/bytes.js';
import { plainNameEnd } from './wire-name.js';

/** The largest length of a wire name in octets (RFC 1035 §3.1). */
export const MAX_NAME_LENGTH = 255;
export const MAX_LABEL_LENGTH = 63;
export const ROOT: Uint8Array = new Uint8Array(1);

export type NameFault =
  | 'empty'
  | 'empty-label'
  | 'label-too-long'
  | 'name-too-long'
  | 'bad-escape'
  | 'relative'
  | 'malformed';

const FAULT_TEXT: Record<NameFault, string> = {
  empty: 'empty domain name',
  'empty-label': 'empty label in domain name',
  'label-too-long': 'label longer than 63 octets',
  'name-too-long': 'domain name longer than 255 octets',
  'bad-escape': 'bad escape in domain name',
  relative: 'relative domain name without an origin',
  malformed: 'malformed wire form of a domain name',
};

export class NameError extends Error {
  constructor(readonly fault: NameFault) {
    super(FAULT_TEXT[fault]);
    this.name = 'NameError';
  }
}

const DOT = 46;
const BACKSLASH = 92;
const scratch = new Uint8Array(MAX_NAME_LENGTH + 1);

/**
 * Parses a name in presentation form into wire form. `text` is latin1: each character is one octet; `\DDD` and `\X`
 * escapes are decoded (RFC 1035 §5.1). A name without a final dot is relative, and `origin` is appended; `@` alone is
 * the origin. Throws {@link NameError}.
 */
export function parseName(text: string, origin?: Uint8Array): Uint8Array {
  if (text === '.') return ROOT;
  if (text === '@' && origin) return origin;
  if (text === '') throw new NameError('empty');
  let at = 1;
  let labelAt = 0;
  for (let i = 0; i < text.length; i++) {
    let c = text.charCodeAt(i);
    if (c === DOT) {
      endLabel(labelAt, at);
      labelAt = at++;
      if (at > MAX_NAME_LENGTH) throw new NameError('name-too-long');
      continue;
    }
    if (c === BACKSLASH) {
      const octet = readEscape(text, i);
      if (octet < 0) throw new NameError('bad-escape');
      c = octet & 0xff;
      i += octet >> 8;
    }
    if (c > 255) throw new NameError('bad-escape');
    if (at - labelAt > MAX_LABEL_LENGTH) throw new NameError('label-too-long');
    if (at >= MAX_NAME_LENGTH) throw new NameError('name-too-long');
    scratch[at++] = c;
  }
  if (at === labelAt + 1) {
    scratch[labelAt] = 0;
    return scratch.slice(0, at);
  }
  endLabel(labelAt, at);
  if (!origin) throw new NameError('relative');
  if (at + origin.length > MAX_NAME_LENGTH) throw new NameError('name-too-long');
  const wire = new Uint8Array(at + origin.length);
  wire.set(scratch.subarray(0, at));
  wire.set(origin, at);
  return wire;
}

function endLabel(labelAt: number, at: number): void {
  const length = at - labelAt - 1;
  if (length === 0) throw new NameError('empty-label');
  scratch[labelAt] = length;
}

/**
 * Decodes an escape at `text[at] === '\\'`: its octet in the low 8 bits, and above them the number of further
 * characters; -1 for an invalid escape (RFC 1035 §5.1).
 */
export function readEscape(text: string, at: number): number {
  const first = text.charCodeAt(at + 1);
  if (Number.isNaN(first)) return -1;
  if (first < 48 || first > 57) return first > 255 ? -1 : (1 << 8) | first;
  const second = text.charCodeAt(at + 2) - 48;
  const third = text.charCodeAt(at + 3) - 48;
  if (!(second >= 0 && second <= 9 && third >= 0 && third <= 9)) return -1;
  const value = (first - 48) * 100 + second * 10 + third;
  return value > 255 ? -1 : (3 << 8) | value;
}

/**
 * Presentation form with the final dot; the root is `.`. Special octets are escaped, so that parsing restores the name.
 */
export function printName(wire: Uint8Array, start = 0): string {
  if (wire[start] === 0) return '.';
  let to = 0;
  for (let at = start; wire[at]! !== 0; ) {
    const end = at + 1 + wire[at]!;
    for (at++; at < end; at++) to = putOctet(wire[at]!, to);
    PRINTED[to++] = DOT;
  }
  return PRINTED.toString('latin1', 0, to);
}

/** A name as it is printed; characters one after the other would become a string each. */
const PRINTED = Buffer.alloc(4 * MAX_NAME_LENGTH);

/** Prints an octet at a place of {@link PRINTED}, and returns the next one. */
function putOctet(octet: number, to: number): number {
  if (octet > 32 && octet < 127) {
    if (isSpecial(octet)) PRINTED[to++] = BACKSLASH;
    PRINTED[to++] = octet;
    return to;
  }
  PRINTED[to++] = BACKSLASH;
  for (const unit of [100, 10, 1]) PRINTED[to++] = 48 + (Math.floor(octet / unit) % 10);
  return to;
}

/** Characters with a special meaning in master files: `" $ ( ) . ; @ \`. */
function isSpecial(octet: number): boolean {
  switch (octet) {
    case 34:
    case 36:
    case 40:
    case 41:
    case 46:
    case 59:
    case 64:
    case 92:
      return true;
  }
  return false;
}

/** The v4 API's form: lower case, no final dot; the root is ''. */
export function toFqdn(wire: Uint8Array): string {
  return printName(lowerName(wire)).slice(0, -1);
}

/**
 * Octets of the wire name that starts at `start`, including its final zero. Throws a {@link NameError} when there is
 * none.
 */
export function nameLength(wire: Uint8Array, start = 0): number {
  const end = plainNameEnd(wire, start, wire.length);
  if (end < 0) throw new NameError('malformed');
  return end - start;
}

/** Number of labels, without the root. */
export function labelCount(wire: Uint8Array): number {
  let count = 0;
  for (let at = 0; wire[at]! !== 0; at += 1 + wire[at]!) count++;
  return count;
}

/** ASCII letters in lower case, all other octets kept (RFC 4343 §3). Length octets (at most 63) are never letters. */
export function lowerName(wire: Uint8Array): Uint8Array {
  let i = 0;
  for (; i < wire.length; i++) if (isUpper(wire[i]!)) break;
  if (i === wire.length) return wire;
  // Not slice: for a Buffer that is a view, and the caller's octets would change.
  const out = new Uint8Array(wire);
  for (; i < out.length; i++) if (isUpper(out[i]!)) out[i]! |= 0x20;
  return out;
}

function isUpper(octet: number): boolean {
  return octet >= 65 && octet <= 90;
}

/** Equality without regard to ASCII case. */
export function nameEquals(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && endsAt(a, b, 0);
}

/** Whether `name` is `ancestor` or below it. */
export function isAtOrBelow(name: Uint8Array, ancestor: Uint8Array): boolean {
  const skip = name.length - ancestor.length;
  if (skip < 0) return false;
  let at = 0;
  while (at < skip) at += 1 + name[at]!;
  return at === skip && endsAt(name, ancestor, skip);
}

function endsAt(name: Uint8Array, suffix: Uint8Array, skip: number): boolean {
  for (let i = 0; i < suffix.length; i++) {
    const a = name[skip + i]!;
    const b = suffix[i]!;
    if (a !== b && ((a ^ b) !== 0x20 || !isUpper(a & 0xdf))) return false;
  }
  return true;
}

/** The name without its first label; the root's parent is the root. */
export function parentName(wire: Uint8Array): Uint8Array {
  return wire[0] === 0 ? wire : wire.subarray(1 + wire[0]!);
}

/** Whether the leftmost label is exactly `*` (RFC 4592 §2.1.1). */
export function isWildcard(wire: Uint8Array): boolean {
  return wire[0] === 1 && wire[1] === 42;
}

/** Labels from the leftmost to the one before the root, as views. */
export function labelsOf(wire: Uint8Array): Uint8Array[] {
  const labels: Uint8Array[] = [];
  for (let at = 0; wire[at]! !== 0; at += 1 + wire[at]!) labels.push(wire.subarray(at + 1, at + 1 + wire[at]!));
  return labels;
}

/** Builds a name from labels, leftmost first. Throws {@link NameError} when it is too long. */
export function nameOfLabels(labels: readonly Uint8Array[]): Uint8Array {
  let length = 1;
  for (const label of labels) length += 1 + label.length;
  if (length > MAX_NAME_LENGTH) throw new NameError('name-too-long');
  const wire = new Uint8Array(length);
  let at = 0;
  for (const label of labels) {
    if (label.length === 0) throw new NameError('empty-label');
    if (label.length > MAX_LABEL_LENGTH) throw new NameError('label-too-long');
    wire[at] = label.length;
    wire.set(label, at + 1);
    at += 1 + label.length;
  }
  return wire;
}

/**
 * The owner key of a name at or below `apex`; the apex has an empty key. The key contains the labels from the apex down
 * in lower case, each followed by a zero octet. 0x00 and 0x01 inside a label become 0x01 0x01 and 0x01 0x02, so that
 * byte order is canonical order.
 */
export function ownerKeyOf(name: Uint8Array, apex: Uint8Array): Uint8Array {
  const end = name.length - apex.length;
  if (end === 0) return new Uint8Array(0);
  const starts: number[] = [];
  let escaped = 0;
  for (let at = 0; at < end; at += 1 + name[at]!) {
    starts.push(at);
    for (let i = at + 1; i <= at + name[at]!; i++) if (name[i]! < 2) escaped++;
  }
  const key = new Uint8Array(end + escaped);
  let to = 0;
  for (let index = starts.length - 1; index >= 0; index--) {
    const at = starts[index]!;
    for (let i = at + 1; i <= at + name[at]!; i++) {
      const octet = name[i]!;
      if (octet < 2) {
        key[to++] = 1;
        key[to++] = octet + 1;
      } else {
        key[to++] = isUpper(octet) ? octet | 0x20 : octet;
      }
    }
    key[to++] = 0;
  }
  return key;
}

/** The name of an owner key, in lower case. */
export function nameOfOwnerKey(key: Uint8Array, apex: Uint8Array): Uint8Array {
  const above = lowerName(apex);
  // 0x01 begins a pair that stands for one octet.
  let end = key.length;
  for (let i = 0; i < key.length; i++) {
    if (key[i] !== 1) continue;
    end--;
    i++;
  }
  if (end + above.length > MAX_NAME_LENGTH) throw new NameError('name-too-long');
  const wire = new Uint8Array(end + above.length);
  wire.set(above, end);
  for (let i = 0; i < key.length; i++) {
    let length = 0;
    for (let at = i; key[at] !== 0; at++, length++) if (key[at] === 1) at++;
    if (length === 0) throw new NameError('empty-label');
    if (length > MAX_LABEL_LENGTH) throw new NameError('label-too-long');
    end -= 1 + length;
    wire[end] = length;
    for (let to = end + 1; key[i] !== 0; to++, i++) wire[to] = key[i] === 1 ? key[++i]! - 1 : key[i]!;
  }
  return wire;
}

/**
 * The range of owner keys strictly below `key`: `key < k && k < end`. For the apex (empty key), `end` is undefined
 * because every other key of the zone is below it.
 */
export function descendantsEnd(key: Uint8Array): Uint8Array | undefined {
  if (key.length === 0) return undefined;
  const end = new Uint8Array(key);
  end[end.length - 1] = 1;
  return end;
}

/** Whether an owner key stands strictly below another one. */
export function isOwnerKeyBelow(key: Uint8Array, ancestor: Uint8Array): boolean {
  return key.length > ancestor.length && equalBytes(key.subarray(0, ancestor.length), ancestor);
}

/** The owner keys of this name and its ancestors below the apex, topmost first; empty for the apex. */
export function ownerKeysDownTo(key: Uint8Array): Uint8Array[] {
  const keys: Uint8Array[] = [];
  for (let end = key.indexOf(0); end >= 0; end = key.indexOf(0, end + 1)) keys.push(key.subarray(0, end + 1));
  return keys;
}
