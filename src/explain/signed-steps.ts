/** What an answer of a signed zone contains for validating resolvers: signatures with their ends, and proofs. */
import { toBase32Hex } from '../base/bytes.js';
import { Type } from '../dns/codes.js';
import type { ReadMessage } from '../dns/message.js';
import { isAtOrBelow, lowerName, nameEquals, nameLength, printName, toFqdn } from '../dns/name.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import { typesOfBitmap } from '../dns/type-bitmap.js';
import { readSignature } from '../dnssec/signature.js';
import { printTime } from '../dnssec/verify-signatures.js';

export interface SignedStep {
  readonly step: 'signed' | 'proof';
  /** FQDN without the final dot. */
  readonly name: string;
  readonly detail: string;
}

/** One step for each signature and each NSEC or NSEC3 record, in the order of the answer. `nowS`: seconds since 1970. */
export function signedSteps({ answers, authorities }: ReadMessage, nowS: number): SignedStep[] {
  const records = [...answers, ...authorities];
  const isSigned = (name: Uint8Array): boolean =>
    records.some(({ owner, type, rdata }) => {
      return type === Type.rrsig && readSignature(rdata).typeCovered === Type.nsec && nameEquals(owner, name);
    });
  return records.flatMap(({ owner, type, rdata }): SignedStep[] => {
    const name = toFqdn(owner);
    if (type === Type.rrsig) {
      const { typeCovered, keyTag, expiration } = readSignature(rdata);
      const detail = `${typeMnemonic(typeCovered)} is signed by key ${keyTag} until ${printTime(expiration, nowS)}`;
      return [{ step: 'signed', name, detail }];
    }
    if (type === Type.nsec) {
      const later = isSigned(owner) ? '' : '; signed when it is asked for (RFC 9824)';
      return [{ step: 'proof', name, detail: `${describeNsec(owner, rdata)}${later}` }];
    }
    if (type === Type.nsec3) return [{ step: 'proof', name, detail: describeNsec3(rdata) }];
    return [];
  });
}

function describeNsec(owner: Uint8Array, rdata: Uint8Array): string {
  const length = nameLength(rdata);
  if (typesOfBitmap(rdata, length, rdata.length).includes(Type.nxname)) return 'NSEC: the name does not exist';
  const next = rdata.subarray(0, length);
  // That of the last name leads back to the apex (RFC 4034 §4.1.1).
  const names = isAtOrBelow(lowerName(owner), lowerName(next)) ? 'after this one' : `before ${printName(next)}`;
  return `NSEC: no names ${names}, and no types but ${typesOf(rdata, length)}`;
}

/** Algorithm, flags, iterations, salt, next hash, types (RFC 5155 §3.2). */
function describeNsec3(rdata: Uint8Array): string {
  const nextAt = 6 + rdata[4]!;
  const end = nextAt + rdata[nextAt - 1]!;
  const next = toBase32Hex(rdata.subarray(nextAt, end));
  return `NSEC3: no hashes before ${next}, and no types but ${typesOf(rdata, end) || 'none'}`;
}

function typesOf(rdata: Uint8Array, at: number): string {
  return typesOfBitmap(rdata, at, rdata.length).map(typeMnemonic).join(' ');
}
