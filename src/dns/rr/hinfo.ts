/** HINFO: kind of host (RFC 1035 §3.3.2), also the answer to ANY (RFC 8482). */
import { defineType } from './define.js';
import { charString } from './text-fields.js';

export const HINFO = defineType({
  mnemonic: 'HINFO',
  code: 13,
  rfc: 'RFC 1035 §3.3.2',
  fields: { cpu: charString, os: charString },
});
