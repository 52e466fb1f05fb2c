/** CDS and CDNSKEY records about other zones (RFC 9615 §4.1), in addition to written records. */
import { Type } from '../../dns/codes.js';
import type { RecordFacts } from './owner.js';

/** Seconds; that of the records that they repeat. */
const TTL = 3600;

/** An alias, a delegation or records of these types that somebody wrote stand in the way. */
const KEEPS_AWAY: ReadonlySet<number> = new Set([Type.cname, Type.ns, Type.cds, Type.cdnskey]);

/** The records that are added to an owner. */
export function signalRecords(
  records: readonly Pick<RecordFacts, 'type'>[],
  signals: readonly Pick<RecordFacts, 'type' | 'rdata'>[],
): RecordFacts[] {
  if (records.some(({ type }) => KEEPS_AWAY.has(type))) return [];
  return signals.map(({ type, rdata }) => ({ type, ttl: TTL, proxied: false, rdata }));
}
