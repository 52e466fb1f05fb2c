/**
 * The SOA of a zone, made from its settings and serial (RFC 1035 §3.3.13), and its form for negative answers (RFC 2308
 * §3).
 */
import { ByteWriter } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import type { RRset } from '../../dns/rr.js';

export interface SoaFacts {
  /** Wire names. */
  readonly mname: Uint8Array;
  readonly rname: Uint8Array;
  readonly serial: number;
  /** All in seconds. */
  readonly refresh: number;
  readonly retry: number;
  readonly expire: number;
  readonly minimum: number;
  readonly ttl: number;
}

/** Directory key of the negative form; image/layout.ts uses the same number. */
export const NEGATIVE_SOA_KEY = 0x10006;

export function soaRdata(soa: SoaFacts): Uint8Array {
  const writer = new ByteWriter(soa.mname.length + soa.rname.length + 20);
  writer.octets(soa.mname);
  writer.octets(soa.rname);
  for (const value of [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum]) writer.u32(value);
  return writer.bytes();
}

/** The SOA RRset, and a copy with TTL = min(TTL, MINIMUM) for NXDOMAIN and NODATA. */
export function soaRRsets(soa: SoaFacts): RRset[] {
  const rdatas = [soaRdata(soa)];
  return [
    { type: Type.soa, ttl: soa.ttl, rdatas },
    { type: NEGATIVE_SOA_KEY, ttl: Math.min(soa.ttl, soa.minimum), rdatas },
  ];
}
