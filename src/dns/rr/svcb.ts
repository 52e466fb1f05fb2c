/** SVCB and HTTPS: service bindings (RFC 9460). */

import { plainNameEnd } from '../wire-name.js';
import { defineType } from './define.js';
import { domainName, u16 } from './fields.js';
import { parametersFault, serviceParameters } from './svcparams.js';
import { RdataError, type RRType } from './type.js';

const TARGET_AT = 2;

function serviceBinding(mnemonic: string, code: number): RRType {
  return defineType({
    mnemonic,
    code,
    rfc: 'RFC 9460 §2',
    fields: {
      priority: u16,
      target: domainName({ additional: true, root: true, keepDot: true }),
      value: serviceParameters,
    },
    check: (rdata) => parametersFault(rdata, plainNameEnd(rdata, TARGET_AT, rdata.length)),
    api: {
      // Recipients ignore parameters in AliasMode (RFC 9460 §2.4.2), so sending them is a mistake.
      check: (rdata) =>
        rdata[0] === 0 && rdata[1] === 0 && plainNameEnd(rdata, TARGET_AT, rdata.length) < rdata.length
          ? new RdataError(`${mnemonic} record of priority 0 must have an empty value.`, '/data/value')
          : undefined,
    },
  });
}

export const SVCB = serviceBinding('SVCB', 64);
export const HTTPS = serviceBinding('HTTPS', 65);
