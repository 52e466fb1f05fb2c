/** NAPTR: rewriting by regular expression (RFC 3403 §4). */
import { defineType } from './define.js';
import { domainName, u16 } from './fields.js';
import { faultOfSubstitution } from './substitution.js';
import { charString, stringsOf } from './text-fields.js';

export const NAPTR = defineType({
  mnemonic: 'NAPTR',
  code: 35,
  rfc: 'RFC 3403 §4.1',
  fields: {
    order: u16,
    preference: u16,
    flags: charString,
    service: charString,
    regex: charString,
    replacement: domainName({ lower: true, additional: true, root: true, keepDot: true }),
  },
  semanticFault(rdata) {
    // Two numbers precede the three strings.
    const [, , expression] = stringsOf(rdata, 4);
    const reason = faultOfSubstitution(expression!);
    return reason === undefined ? undefined : { member: 'regex', reason: `${reason} (RFC 3402 §3.2)` };
  },
  api: {},
});
