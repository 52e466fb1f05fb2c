/** The TXT record that proves a zone's name to be its account's, where the parent cannot delegate it yet (docs/tenants.md). */
import { createHash } from 'node:crypto';
import type { ZoneRow } from '../../store/zones/zones.js';

const LABEL = '_zoneplane-zone';

export interface ProofRecord {
  /** Without the final dot. */
  readonly name: string;
  readonly content: string;
}

/** It is not secret: it says which zone the owner of the name means. */
export function proofRecord({ id, name }: Pick<ZoneRow, 'id' | 'name'>): ProofRecord {
  const token = createHash('sha256').update('zone ').update(id).digest('hex').slice(0, 32);
  return { name: `${LABEL}.${name}`, content: `zoneplane-zone=${token}` };
}
