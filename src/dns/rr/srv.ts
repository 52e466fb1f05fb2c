/** SRV: location of a service (RFC 2782). */
import { defineType } from './define.js';
import { domainName, u16 } from './fields.js';

export const SRV = defineType({
  mnemonic: 'SRV',
  code: 33,
  rfc: 'RFC 2782',
  fields: {
    priority: u16,
    weight: u16,
    port: u16,
    target: domainName({ lower: true, additional: true, root: true }),
  },
  api: { priority: 'both' },
});
