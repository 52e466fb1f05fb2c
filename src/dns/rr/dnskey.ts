/** DNSKEY, CDNSKEY and their relatives: public keys (RFC 4034 §2, RFC 7344 §3.2, RFC 2535 §3). */
import { base64, optionalBase64 } from './binary-fields.js';
import { defineType } from './define.js';
import { ALGORITHMS } from './dnssec-tables.js';
import { integer, u8, u16 } from './fields.js';
import { RdataError } from './type.js';

const algorithm = integer(1, { words: ALGORITHMS });

export const DNSKEY = defineType({
  mnemonic: 'DNSKEY',
  code: 48,
  rfc: 'RFC 4034 §2.1',
  fields: { flags: u16, protocol: u8, algorithm, public_key: base64 },
  api: {
    // (RFC 4034 §2.1.2)
    check: (rdata) => (rdata[2] === 3 ? undefined : new RdataError('protocol must be 3.', '/data/protocol')),
  },
});

export const CDNSKEY = defineType({
  mnemonic: 'CDNSKEY',
  code: 60,
  rfc: 'RFC 7344 §3.2',
  fields: { flags: u16, protocol: u8, algorithm, public_key: base64 },
});

/** A key with flags 0xC000 has no octets (RFC 2535 §3.1.2). */
export const KEY = defineType({
  mnemonic: 'KEY',
  code: 25,
  rfc: 'RFC 2535 §3',
  fields: { flags: u16, protocol: u8, algorithm, public_key: optionalBase64 },
});

export const RKEY = defineType({
  mnemonic: 'RKEY',
  code: 57,
  rfc: 'IANA',
  fields: { flags: u16, protocol: u8, algorithm, public_key: base64 },
});

export const DHCID = defineType({ mnemonic: 'DHCID', code: 49, rfc: 'RFC 4701 §3.1', fields: { identity: base64 } });

export const OPENPGPKEY = defineType({
  mnemonic: 'OPENPGPKEY',
  code: 61,
  rfc: 'RFC 7929 §2.1',
  fields: { public_key: base64 },
  api: { form: 'content' },
});
