/** EUI48 and EUI64: addresses of network interfaces (RFC 7043). */
import { hexGroups } from './binary-fields.js';
import { defineType } from './define.js';

export const EUI48 = defineType({
  mnemonic: 'EUI48',
  code: 108,
  rfc: 'RFC 7043 §3',
  fields: { address: hexGroups(6, 2, '-') },
});

export const EUI64 = defineType({
  mnemonic: 'EUI64',
  code: 109,
  rfc: 'RFC 7043 §4',
  fields: { address: hexGroups(8, 2, '-') },
});
