/** Fingerprints and certificates: TLSA, SMIMEA, SSHFP, CERT, ZONEMD (RFC 6698, 8162, 4255, 4398, 8976). */
import { base64, hex } from './binary-fields.js';
import { type Definition, defineType } from './define.js';
import { ALGORITHMS, CERTIFICATE_TYPES } from './dnssec-tables.js';
import { integer, u8, u16, u32 } from './fields.js';

const association: Definition['fields'] = { usage: u8, selector: u8, matching_type: u8, certificate: hex };

export const TLSA = defineType({ mnemonic: 'TLSA', code: 52, rfc: 'RFC 6698 §2.1', fields: association, api: {} });
export const SMIMEA = defineType({ mnemonic: 'SMIMEA', code: 53, rfc: 'RFC 8162 §2', fields: association, api: {} });

/** The problem when a digest of a known type has the wrong length. */
function digestFault(kind: number, actual: number, lengths: Readonly<Record<number, number>>): string | undefined {
  const expected = lengths[kind];
  if (expected === undefined || actual === expected) return undefined;
  return `digest of type ${kind} must have ${expected} octets`;
}

export const SSHFP = defineType({
  mnemonic: 'SSHFP',
  code: 44,
  rfc: 'RFC 4255 §3.1',
  fields: { algorithm: u8, type: u8, fingerprint: hex },
  check: (rdata) => digestFault(rdata[1]!, rdata.length - 2, { 1: 20, 2: 32 }),
  api: {},
});

export const CERT = defineType({
  mnemonic: 'CERT',
  code: 37,
  rfc: 'RFC 4398 §2',
  fields: {
    type: integer(2, { words: CERTIFICATE_TYPES }),
    key_tag: u16,
    algorithm: integer(1, { words: ALGORITHMS }),
    certificate: base64,
  },
  api: {},
});

const ZONEMD_MINIMUM = 12;

export const ZONEMD = defineType({
  mnemonic: 'ZONEMD',
  code: 63,
  rfc: 'RFC 8976 §2.2',
  fields: { serial: u32, scheme: u8, hash_algorithm: u8, digest: hex },
  check(rdata) {
    const length = rdata.length - 6;
    if (length < ZONEMD_MINIMUM) return `digest must have at least ${ZONEMD_MINIMUM} octets`;
    return digestFault(rdata[5]!, length, { 1: 48, 2: 64 });
  },
});
