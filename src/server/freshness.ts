/** How long an HTTP cache may keep an answer (RFC 8484 §5.1). */
import { Rcode, Type } from '../dns/codes.js';
import { nameEnd } from '../dns/wire-name.js';

const HEADER_LENGTH = 12;

/**
 * Seconds: the smallest TTL of the answer section, or the SOA's TTL of a negative answer; 0 for errors. `message` must
 * be one that this program wrote.
 */
export function freshnessOf(message: Buffer): number {
  const rcode = message.readUInt8(3) & 15;
  const truncated = (message.readUInt8(2) & 2) !== 0;
  if (truncated || (rcode !== Rcode.noError && rcode !== Rcode.nxDomain)) return 0;
  let at = HEADER_LENGTH;
  for (let left = message.readUInt16BE(4); left > 0; left--) at = nameEnd(message, at, message.length) + 4;
  const answers = message.readUInt16BE(6);
  const authorities = message.readUInt16BE(8);
  let least = Number.POSITIVE_INFINITY;
  for (let left = answers > 0 ? answers : authorities; left > 0; left--) {
    at = nameEnd(message, at, message.length);
    const counts = answers > 0 || message.readUInt16BE(at) === Type.soa;
    if (counts) least = Math.min(least, message.readUInt32BE(at + 4));
    at += 10 + message.readUInt16BE(at + 8);
  }
  return Number.isFinite(least) ? least : 0;
}
