/**
 * TXT records that prove control of a name to certificate authorities (RFC 8555 §8.4), in addition to written TXT
 * records.
 */
import { equalBytes } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { RecordFacts } from './owner.js';

/** Seconds; short because challenges change with every order. */
const TTL = 60;

/**
 * Types at a name that prevent challenge records: an alias has them at its target, and a delegation in the child zone.
 */
const KEEPS_AWAY: ReadonlySet<number> = new Set([Type.cname, Type.ns]);

/** The records that are added to an owner. `texts`: up to 255 octets each, all different. */
export function challengeRecords(
  records: readonly Pick<RecordFacts, 'type' | 'ttl' | 'rdata'>[],
  texts: readonly string[],
): RecordFacts[] {
  if (records.some(({ type }) => KEEPS_AWAY.has(type))) return [];
  const written = records.filter(({ type }) => type === Type.txt);
  // One RRset has one TTL (RFC 2181 §5.2).
  const ttl = written[0]?.ttl ?? TTL;
  return texts
    .map((text) => new Uint8Array(Buffer.concat([Buffer.of(text.length), Buffer.from(text, 'latin1')])))
    .filter((rdata) => !written.some((record) => equalBytes(record.rdata, rdata)))
    .map((rdata) => ({ type: Type.txt, ttl, proxied: false, rdata }));
}
