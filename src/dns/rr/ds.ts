/** DS, CDS and their relatives: digests of keys (RFC 4034 §5, RFC 7344 §3.1, RFC 4431). */
import { hex } from './binary-fields.js';
import { type ApiHabits, defineType } from './define.js';
import { ALGORITHMS, DIGEST_TYPES } from './dnssec-tables.js';
import { integer, u16 } from './fields.js';
import type { RRType } from './type.js';

/** Octets of a digest, by digest type. */
const DIGEST_LENGTHS: Readonly<Record<number, number>> = { 1: 20, 2: 32, 3: 32, 4: 48 };

function digestType(mnemonic: string, code: number, rfc: string, api?: ApiHabits): RRType {
  return defineType({
    mnemonic,
    code,
    rfc,
    fields: {
      key_tag: u16,
      algorithm: integer(1, { words: ALGORITHMS }),
      digest_type: integer(1, { words: DIGEST_TYPES }),
      digest: hex,
    },
    check(rdata) {
      const expected = DIGEST_LENGTHS[rdata[3]!];
      return expected === undefined || rdata.length - 4 === expected
        ? undefined
        : `digest of type ${rdata[3]} must have ${expected} octets`;
    },
    ...(api ? { api } : {}),
  });
}

export const DS = digestType('DS', 43, 'RFC 4034 §5.1', {});
export const CDS = digestType('CDS', 59, 'RFC 7344 §3.1');
export const TA = digestType('TA', 32768, 'IANA');
export const DLV = digestType('DLV', 32769, 'RFC 4431 §2');
