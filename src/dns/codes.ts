/** Numbers of the DNS protocol that the code refers to by name (IANA registry "DNS Parameters"). */

export const Opcode = { query: 0, iquery: 1, status: 2, notify: 4, update: 5 } as const;

export const Rcode = {
  noError: 0,
  formErr: 1,
  servFail: 2,
  nxDomain: 3,
  notImp: 4,
  refused: 5,
  yxDomain: 6,
  yxRrset: 7,
  nxRrset: 8,
  notAuth: 9,
  notZone: 10,
  badVers: 16,
  badCookie: 23,
} as const;

export const RCODE_MNEMONICS: Readonly<Record<number, string>> = {
  0: 'NOERROR',
  1: 'FORMERR',
  2: 'SERVFAIL',
  3: 'NXDOMAIN',
  4: 'NOTIMP',
  5: 'REFUSED',
  6: 'YXDOMAIN',
  7: 'YXRRSET',
  8: 'NXRRSET',
  9: 'NOTAUTH',
  10: 'NOTZONE',
  16: 'BADVERS',
  23: 'BADCOOKIE',
};

export const Class = { in: 1, ch: 3, hs: 4, none: 254, any: 255 } as const;

/** Types that the engine handles specially; it copies all others. */
export const Type = {
  a: 1,
  ns: 2,
  cname: 5,
  soa: 6,
  ptr: 12,
  mx: 15,
  txt: 16,
  aaaa: 28,
  srv: 33,
  naptr: 35,
  dname: 39,
  opt: 41,
  ds: 43,
  rrsig: 46,
  nsec: 47,
  dnskey: 48,
  nsec3: 50,
  nsec3param: 51,
  cds: 59,
  cdnskey: 60,
  zonemd: 63,
  svcb: 64,
  https: 65,
  spf: 99,
  nxname: 128,
  tkey: 249,
  tsig: 250,
  ixfr: 251,
  axfr: 252,
  any: 255,
  caa: 257,
} as const;

/** EDNS options (RFC 6891 §6.1.2). */
export const EdnsOption = {
  nsid: 3,
  clientSubnet: 8,
  expire: 9,
  cookie: 10,
  tcpKeepalive: 11,
  padding: 12,
  ede: 15,
  zoneVersion: 19,
} as const;

/** Extended DNS errors (RFC 8914 §4). */
export const Ede = {
  other: 0,
  staleAnswer: 3,
  rrsigsMissing: 10,
  nsecMissing: 12,
  notReady: 14,
  prohibited: 18,
  notAuthoritative: 20,
  notSupported: 21,
  noReachableAuthority: 22,
  invalidData: 24,
  unsupportedNsec3Iterations: 27,
  invalidQueryType: 30,
} as const;
