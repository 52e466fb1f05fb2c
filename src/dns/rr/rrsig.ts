/** RRSIG and its predecessor SIG: signatures (RFC 4034 §3, RFC 2535 §4). */
import { base64, time, typeCovered } from './binary-fields.js';
import { defineType } from './define.js';
import { ALGORITHMS } from './dnssec-tables.js';
import { domainName, integer, u8, u16, u32 } from './fields.js';

const fields = {
  type_covered: typeCovered,
  algorithm: integer(1, { words: ALGORITHMS }),
  labels: u8,
  original_ttl: u32,
  expiration: time,
  inception: time,
  key_tag: u16,
  signer: domainName({ lower: true, root: true }),
  signature: base64,
};

export const RRSIG = defineType({ mnemonic: 'RRSIG', code: 46, rfc: 'RFC 4034 §3.1', fields });
export const SIG = defineType({ mnemonic: 'SIG', code: 24, rfc: 'RFC 2535 §4', fields });
