/** Refusals of signing: HTTP status, v4 code, text. */
import { defineErrors } from '../../base/errors.js';

export const dnssecFailure = defineErrors('dnssec', {
  noKeys: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, so this change has to be signed, but its private keys cannot be opened: {reason}. Nothing was changed.',
  },
  noSigningKey: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, but has no key that signs {what}. Nothing was changed.',
  },
  clock: {
    status: 503,
    code: 1500,
    text: '{zone} is signed, and its newest signature is valid from {newest} on, but the clock says {now}. Set the clock. Nothing was changed.',
  },
  notSignedHere: {
    status: 400,
    code: 1004,
    text: '{zone} is not served with signatures that are made here.',
  },
  notSigned: { status: 400, code: 1004, text: 'DNSSEC is not enabled for this zone.' },
  signalsUnsigned: {
    status: 400,
    code: 1004,
    text: '{zone} is not served with signatures, so nobody would believe what it says about other zones. Sign it first.',
  },
  agentUnsigned: {
    status: 400,
    code: 1004,
    text: '{zone} is not served with signatures, so nobody would believe the DS records in it. Sign it first.',
  },
  agentSecondary: {
    status: 400,
    code: 1004,
    text: '{zone} comes from its primary, so DS records are added there.',
  },
  unsigning: { status: 400, code: 1004, text: 'The signatures of this zone are being removed. Try again in a moment.' },
  wildcardCut: {
    status: 400,
    code: 1004,
    text: '{zone} is signed and cannot have NS records at the wildcard {owner}: nothing proves to validating resolvers what the names that it matches answer (RFC 4592 §4.2.1). Delegate each name by NS records of its own.',
  },
  keyMissing: { status: 404, code: 1004, text: 'The zone has no such key.' },
  stillEnabled: {
    status: 400,
    code: 1004,
    text: 'DNSSEC of this zone is {status}. Disable it first, and wait until the parent has removed its DS record; a zone without signatures below a DS record cannot be resolved.',
  },
  hashedTooLong: {
    status: 400,
    code: 1004,
    text: 'The name of this zone has more than {most} characters, so the names of NSEC3 records in it would be too long (RFC 5155 §3). Absence can be proven by nsec or compact.',
  },
  compactOneKey: {
    status: 400,
    code: 1004,
    text: '{zone} has one key for everything, to which the DS record points. Compact denial needs a second key for the records, because DNS processes sign with it.',
  },
  compactTransferred: {
    status: 400,
    code: 1004,
    text: '{zone} is transferred to peers, which could not prove that names do not exist: with compact denial such proofs are signed when they are asked for. Unlink its peers first, or let absence be proven by nsec or nsec3.',
  },
  rolling: {
    status: 400,
    code: 1004,
    text: 'A rollover of this zone is under way, or resolvers do not know its first keys yet. See the keys of the zone for what they wait for.',
  },
  noRole: { status: 400, code: 1004, text: 'role must be zsk or ksk' },
  bothRoles: { status: 400, code: 1004, text: 'A change of the algorithm replaces both keys; leave out role.' },
  badAlgorithm: {
    status: 400,
    code: 1004,
    text: 'Keys of algorithm {algorithm} are not made: 13 (ECDSAP256SHA256) or 15 (ED25519)',
  },
  foreignKeys: {
    status: 400,
    code: 1004,
    text: '{zone} has {count} DNSKEY records of other signers. Remove them first.',
  },
  presigned: {
    status: 400,
    code: 1004,
    text: 'Only a zone that came with its signatures can be signed elsewhere: a secondary zone, or a file that was imported with --presigned.',
  },
  presignedFixed: {
    status: 400,
    code: 1004,
    text: '{zone} is signed elsewhere and served as it came; this change would leave it with signatures that do not fit. Change it where it is signed, and import it again (zoneplane zone import --replace --presigned), or let it be signed here with its keys (--replace --keys DIRECTORY).',
  },
  presignedKeys: {
    status: 400,
    code: 1004,
    text: '{zone} is signed elsewhere, so its keys and signatures are not in the hands of this server. To sign it here, import it again with its keys (zoneplane zone import --replace --keys DIRECTORY); to serve it without signatures, with --strip-dnssec.',
  },
  exportRefused: { status: 403, code: 10000, text: 'Only a super administrator may export private keys.' },
  signedAlready: {
    status: 400,
    code: 1004,
    text: '{zone} is signed already. Keys can only be imported into a zone that is not.',
  },
  signedHere: {
    status: 400,
    code: 1004,
    text: '{zone} is signed by this server, with keys that would be lost. Remove its signatures first (zoneplane dnssec disable).',
  },
  noEntryKey: {
    status: 400,
    code: 1004,
    text: 'None of the keys has the flags 257, so no DS record can point to them.',
  },
  noZoneKey: { status: 400, code: 1004, text: 'One of the keys is revoked, or is not a zone key (flags 256 or 257).' },
  sameTag: { status: 400, code: 1004, text: 'Two of the keys have the same key tag.' },
  halfAlgorithm: {
    status: 400,
    code: 1004,
    text: 'Of algorithm {algorithm} there is only a key that signs keys, or only one that signs records; both are needed.',
  },
});
