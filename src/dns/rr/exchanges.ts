/** Types that rank hosts: a preference and a name (RFC 1035 §3.3.9, RFC 1183, RFC 2163, RFC 2230). */
import { defineType } from './define.js';
import { domainName, u16 } from './fields.js';
import { RdataError } from './type.js';

/** Mail exchange; `0 .` says that there is no mail (RFC 7505 §3). */
export const MX = defineType({
  mnemonic: 'MX',
  code: 15,
  rfc: 'RFC 1035 §3.3.9',
  fields: { priority: u16, target: domainName({ compress: true, lower: true, additional: true, root: true }) },
  api: {
    form: 'content',
    priority: 'beside',
    defaultPriority: 10,
    invalid: { code: 9009, message: 'Content for MX record must be a hostname.' },
    check: (rdata) =>
      rdata.length === 3 && (rdata[0] !== 0 || rdata[1] !== 0)
        ? new RdataError('A null MX record must have priority 0.', '/priority', 9009)
        : undefined,
  },
});

const host = domainName({ lower: true, additional: true, root: true });

export const AFSDB = defineType({
  mnemonic: 'AFSDB',
  code: 18,
  rfc: 'RFC 1183 §1',
  fields: { subtype: u16, hostname: host },
});

export const RT = defineType({
  mnemonic: 'RT',
  code: 21,
  rfc: 'RFC 1183 §3.3',
  fields: { preference: u16, host },
});

const plainName = domainName({ lower: true, root: true });

export const PX = defineType({
  mnemonic: 'PX',
  code: 26,
  rfc: 'RFC 2163 §4',
  fields: { preference: u16, map822: plainName, mapx400: plainName },
});

export const KX = defineType({
  mnemonic: 'KX',
  code: 36,
  rfc: 'RFC 2230 §3.1',
  fields: { preference: u16, exchanger: host },
});
