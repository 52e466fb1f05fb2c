/** What signer threads are told and answer: few large values instead of many small ones. */
import type { SignatureOrder, ThreadKey } from '../../kernel/zone-keys.js';

export interface SigningMessage {
  readonly keys: readonly ThreadKey[];
  /** Index in `keys` for each signature. */
  readonly keyOf: Uint16Array;
  /** Where the octets of each signature end. */
  readonly ends: Uint32Array;
  readonly octets: Uint8Array;
}

export interface SignedMessage {
  /** Where each signature ends. */
  readonly ends: Uint32Array;
  readonly signatures: Uint8Array;
}

export function packOrders(orders: readonly SignatureOrder[]): SigningMessage {
  const indexes = new Map<ThreadKey, number>();
  const keyOf = new Uint16Array(orders.length);
  orders.forEach(({ key }, i) => {
    const index = indexes.get(key) ?? indexes.size;
    indexes.set(key, index);
    keyOf[i] = index;
  });
  const keys = [...indexes.keys()].map(({ algorithm, key }) => ({ algorithm, key }));
  const packed = packOctets(orders.map(({ octets }) => octets));
  return { keys, keyOf, ends: packed.ends, octets: packed.octets };
}

/** Concatenates octet strings. */
export function packOctets(parts: readonly Uint8Array[]): { readonly ends: Uint32Array; readonly octets: Uint8Array } {
  const ends = new Uint32Array(parts.length);
  let size = 0;
  parts.forEach((part, i) => {
    size += part.length;
    ends[i] = size;
  });
  const octets = new Uint8Array(size);
  for (const [i, part] of parts.entries()) octets.set(part, ends[i]! - part.length);
  return { ends, octets };
}

/** The octet strings that were concatenated; views. */
export function unpackOctets(ends: Uint32Array, octets: Uint8Array): Uint8Array[] {
  return Array.from(ends, (end, i) => octets.subarray(i === 0 ? 0 : ends[i - 1], end));
}
