/**
 * Signed zone files (RFC 4034, RFC 5155): whether a file is one, and what is said when nobody said what its signatures are for.
 */
import type { Issue } from '../base/result.js';
import { Type } from '../dns/codes.js';
import { keyTag } from '../dns/key-tag.js';
import type { CheckedRecord } from './check.js';

/**
 * Types that a signer creates, and keys and digests that are useless without it. DS records of delegations are the
 * zone's own data.
 */
const SIGNER_TYPES: ReadonlySet<number> = new Set([
  Type.rrsig,
  Type.nsec,
  Type.nsec3,
  Type.nsec3param,
  Type.dnskey,
  Type.cds,
  Type.cdnskey,
  Type.zonemd,
]);
/** These types show that the zone is signed; keys alone do not. */
const PROOF_TYPES: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3, Type.nsec3param]);

const SECURE_ENTRY_POINT = 1;
/** The largest number of keys in a message. */
const MOST_SHOWN = 4;

export interface SignedZone {
  /** Examines a record; true when a signer created it. */
  note(record: CheckedRecord): boolean;
  /** The refusal of a signed zone, with the alternative; undefined when it is not signed. */
  refusal(): Issue | undefined;
  /** The steps before a zone without signatures may be served; undefined when it was not signed. */
  advice(): Issue | undefined;
}

export function createSignedZone(): SignedZone {
  let proof: CheckedRecord | undefined;
  const keys: string[] = [];
  const issue = (severity: Issue['severity'], text: string): Issue | undefined => {
    if (!proof) return undefined;
    const { file, line } = proof;
    const place = { ...(file === undefined ? {} : { file }), ...(line === undefined ? {} : { line }) };
    return { severity, code: 'signed-zone', message: text, ...place };
  };
  const warning = (): string => {
    const which = keys.length === 0 ? 'every DS record of the zone' : `the DS records of its keys (${keys.join('; ')})`;
    return `first remove ${which} at the parent, and wait until their TTL has ended: while one exists, validating resolvers refuse answers without signatures`;
  };
  return {
    note(record) {
      if (!SIGNER_TYPES.has(record.type)) return false;
      if (PROOF_TYPES.has(record.type)) proof ??= record;
      if (record.type === Type.dnskey && (record.rdata[1]! & SECURE_ENTRY_POINT) !== 0 && keys.length < MOST_SHOWN) {
        keys.push(`key tag ${keyTag(record.rdata)}, algorithm ${record.rdata[3]}`);
      }
      return true;
    },
    refusal: () =>
      issue(
        'error',
        `the zone is signed. --presigned serves it with its signatures as they are, --keys signs it here with its own keys, and --strip-dnssec imports it without signatures; before that, ${warning()}`,
      ),
    advice: () => issue('warning', `signatures and keys were omitted: ${warning()}`),
  };
}
