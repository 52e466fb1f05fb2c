/**
 * Zones with several signers, each with keys of its own, whose DNSKEY RRset has the keys of all (RFC 8901 §2.1.2). The keys of
 * the others are DNSKEY records of the zone.
 */
import { Type } from '../../dns/codes.js';
import { isSupportedAlgorithm, readPublicKey } from '../../dnssec/key.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
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
  draft.audit({ action: 'dnssec.edit', zone: zone.id, object: zone.id, after: { multi_signer: wanted } });
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

/**
 * Whether DNSKEY records of a zone may be changed: not while it has one signer, whose keys are the service's. Throws when not;
 * returns false for a zone that is not signed here.
 */
export function requireSeveralSigners(store: Store, { seq, name }: Pick<ZoneRow, 'seq' | 'name'>): boolean {
  const row = findDnssecZone(store, seq);
  if (!row || row.phase === 'unsigning') return false;
  if (row.multi_signer !== 1) throw dnssecFailure('multiSignerOff', { zone: name });
  return true;
}

/**
 * Whether a DNSKEY record may be added to a zone; in one that is not signed here, nothing depends on it. Throws when not.
 * `dnskey`: its rdata.
 */
export function requireForeignKey(
  store: Store,
  { seq, name }: Pick<ZoneRow, 'seq' | 'name'>,
  dnskey: Uint8Array,
): void {
  if (!requireSeveralSigners(store, { seq, name })) return;
  const { algorithm, key, signs } = readPublicKey(dnskey);
  if (!signs || !isSupportedAlgorithm(algorithm) || !key) throw dnssecFailure('notZoneKey');
  // Each algorithm of the keys has to sign everything, and no signer makes signatures of another's (RFC 8901 §5).
  const own = keysOfZone(store, seq).map((known) => known.algorithm);
  if (!own.includes(algorithm)) throw dnssecFailure('otherAlgorithm', { algorithm, own: [...new Set(own)].join(', ') });
}
