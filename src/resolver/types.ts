/**
 * The record types that can be queried, and their rdata as text. The text is the same for our own zones and for outside
 * answers.
 */
import { Type } from '../dns/codes.js';
import { nameLength, toFqdn } from '../dns/name.js';
import { typeByCode } from '../dns/rr/registry.js';

/** Types that can be queried. */
export type UpstreamType = 'A' | 'AAAA' | 'NS' | 'CNAME' | 'SOA' | 'MX' | 'TXT' | 'PTR' | 'CAA' | 'DS';

export const TYPE_CODES: Readonly<Record<UpstreamType, number>> = {
  A: Type.a,
  AAAA: Type.aaaa,
  NS: Type.ns,
  CNAME: Type.cname,
  SOA: Type.soa,
  MX: Type.mx,
  TXT: Type.txt,
  PTR: Type.ptr,
  CAA: 257,
  DS: Type.ds,
};

const TYPES_BY_CODE: ReadonlyMap<number, UpstreamType> = new Map(
  Object.entries(TYPE_CODES).map(([type, code]) => [code, type as UpstreamType]),
);

export function typeOfCode(code: number): UpstreamType | undefined {
  return TYPES_BY_CODE.get(code);
}

/** Presentation form: names in lower case without the final dot, the strings of a TXT record joined. */
export function contentOf(type: UpstreamType, rdata: Uint8Array): string {
  switch (type) {
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return toFqdn(rdata);
    case 'MX':
      return `${(rdata[0]! << 8) | rdata[1]!} ${toFqdn(rdata.subarray(2))}`;
    case 'SOA':
      return soaContent(rdata);
    case 'TXT':
      return textOf(rdata);
    default:
      return typeByCode(TYPE_CODES[type]).contentOf(rdata);
  }
}

function soaContent(rdata: Uint8Array): string {
  const mname = nameLength(rdata);
  const numbers = mname + nameLength(rdata, mname);
  const view = new DataView(rdata.buffer, rdata.byteOffset + numbers, 20);
  const fields = [0, 4, 8, 12, 16].map((at) => view.getUint32(at));
  return [toFqdn(rdata), toFqdn(rdata.subarray(mname)), ...fields].join(' ');
}

function textOf(rdata: Uint8Array): string {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < rdata.length; at += 1 + rdata[at]!) parts.push(rdata.subarray(at + 1, at + 1 + rdata[at]!));
  return Buffer.concat(parts).toString();
}
