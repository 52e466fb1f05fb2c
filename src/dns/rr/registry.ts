/**
 * All known record types, by number and by mnemonic, one line each. A number that is not listed is an unknown type and
 * is handled by RFC 3597.
 */
import { TokenCursor } from '../presentation.js';
import { A, AAAA } from './address.js';
import { APL } from './apl.js';
import { CAA } from './caa.js';
import { CDNSKEY, DHCID, DNSKEY, KEY, OPENPGPKEY, RKEY } from './dnskey.js';
import { CDS, DLV, DS, TA } from './ds.js';
import { EUI48, EUI64 } from './eui.js';
import { AFSDB, KX, MX, PX, RT } from './exchanges.js';
import { CERT, SMIMEA, SSHFP, TLSA, ZONEMD } from './fingerprints.js';
import { AMTRELAY, DOA, DSYNC, HIP, IPSECKEY } from './gateways.js';
import { HINFO } from './hinfo.js';
import { GPOS, ISDN, NSAP, WKS, X25 } from './historic.js';
import { L32, L64, LP, NID } from './ilnp.js';
import { LOC } from './loc.js';
import { codeOfMnemonic, isNeverStored, mnemonicOf, registerMnemonic } from './mnemonics.js';
import { CNAME, DNAME, MB, MD, MF, MG, MINFO, MR, NS, NSAP_PTR, PTR, RP, TALINK } from './names.js';
import { NAPTR } from './naptr.js';
import { CSYNC, NSEC, NSEC3, NSEC3PARAM } from './nsec.js';
import { RRSIG, SIG } from './rrsig.js';
import { SOA } from './soa.js';
import { SRV } from './srv.js';
import { HTTPS, SVCB } from './svcb.js';
import { tokenizeRdata } from './tokens.js';
import { AVC, NINFO, RESINFO, SPF, TXT, WALLET } from './txt.js';
import type { RRType } from './type.js';
import { unknownType } from './unknown.js';
import { URI } from './uri.js';

/** NULL may contain any octets, so only the form of unknown types can represent it (RFC 1035 §3.3.10). */
registerMnemonic(10, 'NULL');
const NULL = unknownType(10, 'NULL', 'RFC 1035 §3.3.10');

/** Every type with its own definition, in the order of the type numbers. */
export const TYPES: readonly RRType[] = [
  A,
  NS,
  MD,
  MF,
  CNAME,
  SOA,
  MB,
  MG,
  MR,
  NULL,
  WKS,
  PTR,
  HINFO,
  MINFO,
  MX,
  TXT,
  RP,
  AFSDB,
  X25,
  ISDN,
  RT,
  NSAP,
  NSAP_PTR,
  SIG,
  KEY,
  PX,
  GPOS,
  AAAA,
  LOC,
  SRV,
  NAPTR,
  KX,
  CERT,
  DNAME,
  APL,
  DS,
  SSHFP,
  IPSECKEY,
  RRSIG,
  NSEC,
  DNSKEY,
  DHCID,
  NSEC3,
  NSEC3PARAM,
  TLSA,
  SMIMEA,
  HIP,
  NINFO,
  RKEY,
  TALINK,
  CDS,
  CDNSKEY,
  OPENPGPKEY,
  CSYNC,
  ZONEMD,
  SVCB,
  HTTPS,
  DSYNC,
  SPF,
  NID,
  L32,
  L64,
  LP,
  EUI48,
  EUI64,
  URI,
  CAA,
  AVC,
  DOA,
  AMTRELAY,
  RESINFO,
  WALLET,
  TA,
  DLV,
];

const BY_CODE = new Map<number, RRType>(TYPES.map((type) => [type.code, type]));

/** The type with a number; an unknown type is created at its first use (RFC 3597). */
export function typeByCode(code: number): RRType {
  let type = BY_CODE.get(code);
  if (!type) {
    type = unknownType(code, mnemonicOf(code));
    BY_CODE.set(code, type);
  }
  return type;
}

/**
 * The type with a mnemonic or `TYPEnnn` in any case; undefined for other words and for types that are never zone data.
 */
export function typeByMnemonic(text: string): RRType | undefined {
  const code = codeOfMnemonic(text);
  return code === undefined || isNeverStored(code) ? undefined : typeByCode(code);
}

/** The mnemonic of a number, `TYPEnnn` when it has none. */
export function typeMnemonic(code: number): string {
  return mnemonicOf(code);
}

/**
 * Parses rdata in presentation form: blanks, quotes and escapes as in a zone file, but one line without parentheses and
 * comments. `text` is latin1, one character for each octet. Throws PresentationError.
 */
export function parseRdata(code: number, text: string, origin: Uint8Array): Uint8Array {
  return typeByCode(code).parse(new TokenCursor(tokenizeRdata(text)), origin);
}

/** Presentation form of rdata; names have their final dot. */
export function printRdata(code: number, rdata: Uint8Array): string {
  return typeByCode(code).print(rdata);
}
