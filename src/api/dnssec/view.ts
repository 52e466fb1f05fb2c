/** Signed zones as v4 clients read them (v4: §9). */
import { toBase64, toHex } from '../../base/bytes.js';
import type { DnssecItem, KeyItem } from '../../control/dnssec/item.js';
import type { SigningStatus } from '../../control/dnssec/status.js';
import { Class, Type } from '../../dns/codes.js';
import { printOptionalTime, printTime } from '../times.js';
import type { Dnssec, DnssecKey, DnssecStatus, ZoneSigningKey } from './schema.js';

export function dnssecView({
  status,
  key,
  modifiedAt,
  multiSigner,
  presigned,
  signals,
  parentalAgent,
  denial,
}: DnssecItem): Dnssec {
  return {
    status,
    flags: key?.flags ?? null,
    algorithm: key ? String(key.algorithm) : null,
    key_type: key?.algorithmName ?? null,
    digest_type: key?.ds ? String(key.ds.digestType) : null,
    digest_algorithm: key?.ds?.digestName ?? null,
    digest: key?.ds ? toHex(key.ds.digest).toUpperCase() : null,
    ds: key?.ds?.line ?? null,
    key_tag: key?.tag ?? null,
    public_key: key ? toBase64(key.publicKey) : null,
    modified_on: printOptionalTime(modifiedAt),
    dnssec_multi_signer: multiSigner,
    dnssec_presigned: presigned,
    dnssec_use_nsec3: denial === 'nsec3',
    dnssec_signals: signals,
    dnssec_parental_agent: parentalAgent,
  };
}

/** The names that this list has for the states of keys; the others are its own (v4: §9). */
const TAGS: Readonly<Record<string, ZoneSigningKey['Tag']>> = {
  presigning: 'publish',
  published: 'publish',
  withdrawn: 'retired',
  retired: 'retired',
  external: 'external',
};
/** The only protocol of DNSKEY records (RFC 4034 §2.1.2). */
const PROTOCOL = 3;

export function zoneSigningKeyView(zone: string, key: KeyItem): ZoneSigningKey {
  const { state, ttl, dnskey, flags, algorithm, publicKey } = key;
  const name = `${zone}.`;
  return {
    Name: name,
    Tag: TAGS[state] ?? 'active',
    Location: 'database',
    DNSKEY: {
      Hdr: { Name: name, Rrtype: Type.dnskey, Class: Class.in, Ttl: ttl, Rdlength: dnskey.length },
      Flags: flags,
      Protocol: PROTOCOL,
      Algorithm: algorithm,
      PublicKey: toBase64(publicKey),
    },
  };
}

export function dnssecKeyView(key: KeyItem): DnssecKey {
  return {
    id: toHex(key.id),
    role: key.role,
    key_tag: key.tag,
    algorithm: key.algorithm,
    key_type: key.algorithmName,
    flags: key.flags,
    public_key: toBase64(key.publicKey),
    state: key.state as DnssecKey['state'],
    since: printTime(key.since),
    waiting_for: key.wait?.waitingFor ?? null,
    until: printOptionalTime(key.wait?.until),
    ds: key.ds?.line ?? null,
  };
}

export function dnssecStatusView(status: SigningStatus): DnssecStatus {
  return {
    status: status.status,
    denial: status.denial ?? null,
    signed_owners: status.signedOwners,
    progress: status.progress ?? null,
    first_expiry: printOptionalTime(status.firstExpiry),
    due: status.due,
    failure: status.failure ?? null,
    signals: [...status.signals],
    parent: {
      checked_on: printOptionalTime(status.parent.checkedAt),
      servers: status.parent.servers.map(({ server, ds }) => ({ server, ds: ds ? [...ds] : null })),
      taken_by: status.parent.takenBy ?? null,
      could_take: status.parent.couldTake ?? null,
    },
  };
}
