/** The DS record of a key, for the parent. */
import { Type } from '../../dns/codes.js';
import { printRecord } from '../../dns/zonefile/writer.js';
import { dsRdata, readPublicKey } from '../../dnssec/key.js';
import { isEntryRole } from '../../dnssec/key-states.js';
import type { DnssecKeyRow } from '../../store/dnssec/keys.js';
import type { DsItem } from './item.js';

/** The digest that every parent takes (RFC 8624 §3.3). */
const DIGEST = { type: 2, name: 'SHA256' } as const;
/** TTL of the DS record that is shown, in seconds: the parent chooses its own. */
const DS_TTL = 3600;
/** Octets of DS rdata before the digest. */
const HEAD = 4;

/** Whether a DS record may point to the key. */
export function isEntryPoint({ role }: Pick<DnssecKeyRow, 'role'>): boolean {
  return isEntryRole(role);
}

/** Rdata of the DS record. `apex`: lower-case wire name; `dnskey`: rdata. */
export function dsOf(apex: Uint8Array, dnskey: Uint8Array): Uint8Array {
  return dsRdata(apex, readPublicKey(dnskey), DIGEST.type);
}

/** The same for people, with the digest in upper case, as registrars show it. */
export function dsItem(apex: Uint8Array, dnskey: Uint8Array): DsItem {
  const rdata = dsOf(apex, dnskey);
  const line = printRecord({ owner: apex, type: Type.ds, ttl: DS_TTL, rdata });
  return {
    digestType: DIGEST.type,
    digestName: DIGEST.name,
    digest: rdata.subarray(HEAD),
    line: line.replaceAll('\t', ' ').replace(/[0-9a-f]+$/i, (digest) => digest.toUpperCase()),
  };
}
