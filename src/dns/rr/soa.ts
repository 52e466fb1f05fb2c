/** SOA: start of a zone of authority (RFC 1035 §3.3.13). */
import { defineType } from './define.js';
import { domainName, seconds, u32 } from './fields.js';

const name = domainName({ compress: true, lower: true, root: true });

export const SOA = defineType({
  mnemonic: 'SOA',
  code: 6,
  rfc: 'RFC 1035 §3.3.13',
  fields: {
    mname: name,
    rname: name,
    serial: u32,
    refresh: seconds,
    retry: seconds,
    expire: seconds,
    minimum: seconds,
  },
});
