/**
 * The types with names that messages compress. A file of its own, so that threads that only write messages do not load what
 * reads, prints and checks every type.
 */
import { Type } from './codes.js';

/**
 * For the types that may be compressed (RFC 1035 §3.3, RFC 3597 §4): the octets before the names, and the number of
 * names.
 */
export const COMPRESSED: Readonly<Record<number, readonly [before: number, names: number]>> = {
  [Type.ns]: [0, 1],
  [Type.cname]: [0, 1],
  [Type.soa]: [0, 2],
  [Type.ptr]: [0, 1],
  [Type.mx]: [2, 1],
  [Type.dname]: [0, 1],
};
