/** Types whose rdata consists of one or two domain names (RFC 1035 §3.3, RFC 1183, RFC 1348, RFC 6672). */
import type { TokenCursor } from '../presentation.js';
import { type ApiHabits, defineType } from './define.js';
import { domainName, takeName } from './fields.js';
import type { RRType } from './type.js';
import { isUnknownForm } from './unknown.js';

/** A name in the types of RFC 1035, which is compressed in answers (RFC 3597 §4). */
const oldName = domainName({ compress: true, lower: true });
const lowerName = domainName({ lower: true, root: true });

function oneName(mnemonic: string, code: number, rfc: string, target = oldName, api?: ApiHabits): RRType {
  const type = defineType({ mnemonic, code, rfc, fields: { target }, ...(api ? { api } : {}) });
  return {
    ...type,
    parse(tokens: TokenCursor, origin: Uint8Array): Uint8Array {
      if (isUnknownForm(tokens)) return type.parse(tokens, origin);
      const rdata = takeName(tokens, origin, 'target');
      tokens.end();
      return rdata;
    },
  };
}

function hostContent(mnemonic: string): ApiHabits {
  return { form: 'content', invalid: { code: 9007, message: `Content for ${mnemonic} record is invalid.` } };
}

const nameServer = domainName({ compress: true, lower: true, additional: true });
export const NS = oneName('NS', 2, 'RFC 1035 §3.3.11', nameServer, hostContent('NS'));
export const MD = oneName('MD', 3, 'RFC 1035 §3.3.4');
export const MF = oneName('MF', 4, 'RFC 1035 §3.3.5');
export const CNAME = oneName('CNAME', 5, 'RFC 1035 §3.3.1', oldName, hostContent('CNAME'));
export const MB = oneName('MB', 7, 'RFC 1035 §3.3.3');
export const MG = oneName('MG', 8, 'RFC 1035 §3.3.6');
export const MR = oneName('MR', 9, 'RFC 1035 §3.3.8');
export const PTR = oneName('PTR', 12, 'RFC 1035 §3.3.12', oldName, hostContent('PTR'));
export const NSAP_PTR = oneName('NSAP-PTR', 23, 'RFC 1348', domainName({ root: true }));
export const DNAME = oneName('DNAME', 39, 'RFC 6672 §2.1', lowerName);

export const MINFO = defineType({
  mnemonic: 'MINFO',
  code: 14,
  rfc: 'RFC 1035 §3.3.7',
  fields: { rmailbx: oldName, emailbx: oldName },
});

export const RP = defineType({
  mnemonic: 'RP',
  code: 17,
  rfc: 'RFC 1183 §2.2',
  fields: { mailbox: lowerName, text: lowerName },
});

export const TALINK = defineType({
  mnemonic: 'TALINK',
  code: 58,
  rfc: 'IANA',
  fields: { previous: domainName({ root: true }), next: domainName({ root: true }) },
});
