/** Which record types may share an owner name (v4: §5.9). Pure. */
import { Type } from '../../dns/codes.js';

export type Conflict = 'hostExists' | 'cnameExists' | 'addressExists' | 'nameServerExists';

/**
 * The conflict of a new record with others at its owner, or undefined. `existing` contains the types at the owner, not
 * counting the record itself. A CNAME may coexist with types other than addresses and NS (v4: §5.9); at the apex it is
 * flattened, so the NS records there do not count.
 */
export function findConflict(type: number, isApex: boolean, existing: ReadonlySet<number>): Conflict | undefined {
  const nameServers = !isApex && existing.has(Type.ns);
  switch (type) {
    case Type.a:
    case Type.aaaa:
      if (existing.has(Type.cname)) return 'cnameExists';
      return nameServers ? 'nameServerExists' : undefined;
    case Type.cname:
      if (existing.has(Type.a) || existing.has(Type.aaaa) || existing.has(Type.cname)) return 'hostExists';
      return nameServers ? 'nameServerExists' : undefined;
    case Type.ns:
      if (isApex) return undefined;
      if (existing.has(Type.cname)) return 'cnameExists';
      return existing.has(Type.a) || existing.has(Type.aaaa) ? 'addressExists' : undefined;
    default:
      return undefined;
  }
}

/** Why a name cannot have a DS or DNSKEY record, or undefined (v4: §5.9). */
export function findDnssecFault(type: number, isApex: boolean, existing: ReadonlySet<number>): string | undefined {
  if (type === Type.ds) {
    if (isApex) return 'DS records of the zone belong in its parent zone';
    if (!existing.has(Type.ns)) return 'DS records need NS records with the same name';
  }
  if (type === Type.dnskey && !isApex) return 'DNSKEY records are only allowed at the name of the zone';
  return undefined;
}
