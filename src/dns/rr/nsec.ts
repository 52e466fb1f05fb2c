/** Denial of existence and the types at a name: NSEC, NSEC3, NSEC3PARAM, CSYNC (RFC 4034 §4, RFC 5155, RFC 7477). */
import { base32hex, salt, typeBitmap } from './binary-fields.js';
import { defineType } from './define.js';
import { domainName, u8, u16, u32 } from './fields.js';

/** The next name keeps its case in canonical form (RFC 6840 §5.1). */
export const NSEC = defineType({
  mnemonic: 'NSEC',
  code: 47,
  rfc: 'RFC 4034 §4.1',
  fields: { next: domainName({ root: true }), types: typeBitmap(1) },
});

const SHA1 = 1;
const SHA1_LENGTH = 20;

export const NSEC3 = defineType({
  mnemonic: 'NSEC3',
  code: 50,
  rfc: 'RFC 5155 §3.2',
  fields: {
    hash_algorithm: u8,
    flags: u8,
    iterations: u16,
    salt,
    next_hashed_owner: base32hex,
    types: typeBitmap(0),
  },
  check: (rdata) =>
    rdata[0] === SHA1 && rdata[5 + rdata[4]!] !== SHA1_LENGTH
      ? `next hashed owner of SHA-1 must have ${SHA1_LENGTH} octets`
      : undefined,
});

export const NSEC3PARAM = defineType({
  mnemonic: 'NSEC3PARAM',
  code: 51,
  rfc: 'RFC 5155 §4.2',
  fields: { hash_algorithm: u8, flags: u8, iterations: u16, salt },
});

export const CSYNC = defineType({
  mnemonic: 'CSYNC',
  code: 62,
  rfc: 'RFC 7477 §2.1',
  fields: { serial: u32, flags: u16, types: typeBitmap(0) },
});
