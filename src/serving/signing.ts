/** Where a zone is signed, and what is under way there: decided here from the columns, once for all. */
import { type DenialKind, type DnssecPhase, type DnssecZoneRow, findDnssecZone } from '../store/dnssec/zones.js';
import type { Store } from '../store/driver.js';

/**
 * What is under way in a zone that is signed here, apart from signatures that end: it is signed for the first time, its signatures
 * are removed, the chain of another denial is served as it is made or made before it is served, or everything is signed again.
 */
type SigningWork = 'begin' | 'end' | 'link' | 'deny' | 'walk';

export type Signing =
  | { readonly kind: 'none' }
  /** It is served as it came, and nothing is added to it. */
  | { readonly kind: 'elsewhere'; readonly row: DnssecZoneRow }
  | SigningHere;

export interface SigningHere {
  readonly kind: 'here';
  readonly phase: DnssecPhase;
  readonly denial: DenialKind;
  readonly work: SigningWork | undefined;
  readonly row: DnssecZoneRow;
}

/** Whether a zone is served with the signatures that it came with. */
export function isSignedElsewhere(row: DnssecZoneRow | undefined): boolean {
  return row?.presigned === 1;
}

export function signingOfRow(row: DnssecZoneRow | undefined): Signing {
  if (!row) return { kind: 'none' };
  if (isSignedElsewhere(row)) return { kind: 'elsewhere', row };
  return { kind: 'here', phase: row.phase, denial: row.denial, work: workOf(row), row };
}

/** `zone`: store number. */
export function findSigning(store: Store, zone: number): Signing {
  return signingOfRow(findDnssecZone(store, zone));
}

/** The row of a zone that is served with signatures made here; undefined for all others. */
export function findSignedHere(store: Store, zone: number): DnssecZoneRow | undefined {
  const row = findDnssecZone(store, zone);
  return isSignedHere(row) ? row : undefined;
}

/** Whether a zone has signatures that are made here, and is served with them. */
export function isSignedHere(row: DnssecZoneRow | undefined): boolean {
  return row?.phase === 'signed' && !isSignedElsewhere(row);
}

function workOf({ phase, denial, next_denial: next, walk }: DnssecZoneRow): SigningWork | undefined {
  if (phase === 'unsigning') return 'end';
  if (phase !== 'signed') return 'begin';
  // The records of a chain replace those of compact denial, which are served.
  if (next) return denial === 'compact' && next === 'nsec' ? 'link' : 'deny';
  return walk ? 'walk' : undefined;
}
