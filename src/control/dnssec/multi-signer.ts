/**
 * Zones with several signers, each with keys of its own, whose DNSKEY RRset has the keys of all (RFC 8901 §2.1.2). The keys of
 * the others are DNSKEY records of the zone.
 */
import { Type } from '../../dns/codes.js';
import { findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { type RecordRow, recordsOfOwner } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Draft } from '../kernel/draft.js';
import { dnssecFailure } from './errors.js';

const APEX = new Uint8Array(0);

/** The DNSKEY records of other signers. */
export function foreignKeys(store: Store, zone: number): readonly RecordRow[] {
  return findDnssecZone(store, zone)?.multi_signer === 1 ? dnskeyRecords(store, zone) : [];
}

function dnskeyRecords(store: Store, zone: number): readonly RecordRow[] {
  return recordsOfOwner(store, zone, APEX).filter(({ type }) => type === Type.dnskey);
}

/** Lets other signers take part, or no longer, which needs their keys to be gone. Inside a commit. */
export function setMultiSigner(store: Store, draft: Draft, zone: ZoneRow, wanted: boolean): void {
  const row = findDnssecZone(store, zone.seq);
  if (!row || row.phase === 'unsigning') {
    if (wanted) throw dnssecFailure('notSigned');
    return;
  }
  if ((row.multi_signer === 1) === wanted) return;
  if (!wanted) requireNoForeignKeys(store, zone);
  draft.noteSigning(zone.seq, { owners: [APEX] });
  updateDnssecZone(store, zone.seq, { multi_signer: wanted ? 1 : 0, modified_at: draft.now });
  draft.event({ kind: 'dnssec.edit', zone, after: { multi_signer: wanted } });
}

export function requireNoForeignKeys(store: Store, { seq, name }: Pick<ZoneRow, 'seq' | 'name'>): void {
  refuseKeys(name, foreignKeys(store, seq));
}

/** The same for a zone that is not signed yet, where any DNSKEY record is one of another signer. */
export function requireNoKeys(store: Store, { seq, name }: Pick<ZoneRow, 'seq' | 'name'>): void {
  refuseKeys(name, dnskeyRecords(store, seq));
}

function refuseKeys(zone: string, { length: count }: readonly RecordRow[]): void {
  if (count > 0) throw dnssecFailure('foreignKeys', { zone, count });
}
