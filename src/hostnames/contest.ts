/**
 * Several accounts may claim one hostname. Whoever has the better proof has it; of equal proofs the earlier one stays for as long as
 * it holds, which is looked at anew whenever somebody else shows one (docs/tenants.md).
 */
import { type HostnameEvidence, type HostnameProof, proofOf } from '../serving/hostname-proof.js';
import type { Store } from '../store/driver.js';
import { type HostnameRow, otherActiveHostnames } from '../store/hostnames/hostnames.js';
import { findZone, type ZoneRow } from '../store/zones/zones.js';
import type { Findings } from './ownership.js';

/** An active hostname of the same name in another account, and what was found of it just now. */
export interface Rival {
  readonly id: string;
  readonly findings: Findings;
}

/** The active hostnames of the same name in zones of other accounts. */
export function rivalsOf(store: Store, row: HostnameRow, account: number): { row: HostnameRow; zone: ZoneRow }[] {
  return otherActiveHostnames(store, row).flatMap((other) => {
    const zone = findZone(store, other.zone);
    return zone && zone.account !== account ? { row: other, zone } : [];
  });
}

/** The best that findings prove for a hostname of a zone; undefined: nothing. */
export function bestProof(
  store: Store,
  row: HostnameRow,
  zone: ZoneRow,
  { pointing, token }: Findings,
): HostnameProof | undefined {
  const found = [pointing.kind === 'here' ? pointing.evidence : undefined, token];
  const proofs = found.flatMap(
    (evidence) => (evidence && isUsable(store, row, evidence) && proofOf(store, row.hostname, zone, evidence)) || [],
  );
  return proofs.sort((a, b) => b.rank - a.rank)[0];
}

/** All accounts share the edge's addresses, so an address alone takes no name from another zone. */
function isUsable(store: Store, row: HostnameRow, { by }: HostnameEvidence): boolean {
  return by !== 'address' || row.state === 'active' || otherActiveHostnames(store, row).length === 0;
}

/**
 * Whether a proof is better than what others have now. One that was not looked at, or could not be, keeps its name. Call inside a
 * write.
 */
export function winsAgainst(
  store: Store,
  { rank }: HostnameProof,
  others: readonly { readonly row: HostnameRow; readonly zone: ZoneRow }[],
  rivals: readonly Rival[],
): boolean {
  return others.every(({ row, zone }) => {
    const findings = rivals.find(({ id }) => id === row.id)?.findings;
    if (!findings) return false;
    const theirs = bestProof(store, row, zone, findings);
    if (theirs) return rank > theirs.rank;
    return findings.pointing.kind !== 'unsure' && rank > 0;
  });
}
