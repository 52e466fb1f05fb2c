/** Random messages of RFC 2136, good and bad: any class, type, TTL and data at names where something special may stand. */
import type { Random } from '../../src/base/random.js';
import { Class, Opcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { parseRdata } from '../../src/dns/rr/registry.js';
import type { DecodedRR } from './message.js';

/** One record of a message; `data` in presentation form, or octets. */
export interface Instruction {
  readonly section: 'answer' | 'authority';
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  readonly data: string | Uint8Array;
}

const ROOT = parseName('.');
const NAMES = [
  '',
  'a.',
  'A.',
  'alias.',
  '*.wild.',
  'x.wild.',
  'wild.',
  'ent.',
  'deep.ent.',
  'sub.',
  'ns.sub.',
  'below.sub.',
  'new.',
  'dn.',
  'x.dn.',
  'mail.',
  '*.',
  'x.*.wild.',
  '_a_b.',
  '\\000\\.x.',
  'my\\032printer._ipp._tcp.',
  '-.',
];
const DATA: readonly (readonly [type: number, ...contents: string[]])[] = [
  [Type.a, '192.0.2.10', '192.0.2.11', '192.0.2.1', '192.0.2.77'],
  [Type.aaaa, '2001:db8::1', '2001:db8::2'],
  [Type.txt, '"one"', '"w"', '"One"', '"o" "ne"', '""'],
  [Type.cname, 'a.example.com.', 'A.example.com.', 'b.example.com.'],
  [Type.ns, 'ns.example.com.', 'ns2.example.net.', 'NS.example.com.'],
  [Type.mx, '10 mail.example.com.', '10 MAIL.example.com.', '20 mail.example.com.'],
  [Type.dname, 'example.net.', 'example.org.'],
  [Type.soa, 'ns.example.com. hostmaster.example.com. SERIAL 3600 600 86400 60'],
  [Type.srv, '1 2 3 a.example.com.'],
  [65280, '\\# 3 010203'],
];
/** Types that only a signer makes, or that stand at special places only. */
const RARE: typeof DATA = [
  [Type.ds, '1 13 2 4949494949494949494949494949494949494949494949494949494949494949'],
  [Type.rrsig, 'A 13 3 60 20300101000000 20200101000000 1 example.com. AAAA'],
  [Type.nsec, 'a.example.com. A'],
  [Type.https, '1 . alpn=h2'],
  [Type.mx, '0 .', '10 an\\032odd\\.name.example.com.'],
  [Type.naptr, '1 2 "s" "SIP+D2U" "" _sip._udp.example.com.'],
  [Type.ptr, 'a.example.com.'],
];
/** Types that are not data. */
const ODD_TYPES = [Type.any, Type.any, Type.any, 252, 251, 253, 254, 250, 249, 41, 0];
const ODD_CLASSES = [Class.in, Class.any, Class.none, 3, 4];
const TTLS = [0, 0, 0, 60, 60, 300, 1, 2_147_483_647];
const ODD_TTLS = [0, 60, 0x8000_0000, 0xffff_ffff];
const NO_DATA = new Uint8Array(0);

/** A zone as it is transferred. */
export interface ZoneNow {
  readonly serial: number;
  /** Without the SOA. */
  readonly records: readonly DecodedRR[];
}

/** One to four prerequisites and instructions; `zone`: what prerequisites and deletions may be about. */
export function randomUpdate(random: Random, zone: ZoneNow): Instruction[] {
  const number = (below: number): number => ((random.bytes(1)[0]! << 8) | random.bytes(1)[0]!) % below;
  const pick = <Value>(list: readonly Value[]): Value => list[number(list.length)]!;
  const isOneOf = (times: number): boolean => number(times) === 0;
  const owner = (): string => (isOneOf(40) ? 'elsewhere.org.' : `${pick(NAMES)}example.com.`);
  const contents = (): { type: number; data: string } => {
    const [type, ...all] = pick(isOneOf(25) ? RARE : DATA);
    return { type, data: pick(all).replace('SERIAL', String(zone.serial - 1 + number(5))) };
  };
  // BIND refuses what comes after a name server of the apex has lost its address.
  const known = zone.records.filter(({ owner: of }) => of !== 'ns.example.com.');
  const stored = () => {
    const { owner: of, type, rdata } = pick(known);
    return { owner: of, type, data: new Uint8Array(Buffer.from(rdata, 'hex')) };
  };
  const subject = () => (isOneOf(2) ? stored() : { owner: owner(), ...contents() });
  const odd = (section: Instruction['section']): Instruction => ({
    section,
    ...subject(),
    ...(isOneOf(2) && { type: pick(ODD_TYPES) }),
    class: pick(ODD_CLASSES),
    ttl: isOneOf(2) ? pick(TTLS) : pick(ODD_TTLS),
    data: isOneOf(2) ? NO_DATA : new Uint8Array([1, 2, 3, 4]),
  });
  const wholeSet = (): Instruction[] => {
    const { owner: of, type } = stored();
    const set = zone.records.filter((record) => record.owner === of && record.type === type);
    const wanted = isOneOf(4) ? set.slice(1) : set;
    return wanted.map(({ rdata }) => {
      const data = new Uint8Array(Buffer.from(rdata, 'hex'));
      return { section: 'answer', owner: of, type, class: Class.in, ttl: 0, data };
    });
  };
  const prerequisite = (): Instruction[] => {
    const base = { section: 'answer', ...subject(), ttl: 0, data: NO_DATA } as const;
    switch (number(6)) {
      case 0:
        return [{ ...base, class: Class.any, type: Type.any }];
      case 1:
        return [{ ...base, class: Class.none, type: Type.any }];
      case 2:
        return [{ ...base, class: Class.any }];
      case 3:
        return [{ ...base, class: Class.none }];
      case 4:
        return [{ ...base, owner: owner(), ...contents(), class: Class.in }];
      default:
        return wholeSet();
    }
  };
  const instruction = (): Instruction[] => {
    const base = { section: 'authority', ttl: 0 } as const;
    const kind = number(9);
    if (kind < 5) return [{ ...base, owner: owner(), ...contents(), class: Class.in, ttl: pick(TTLS) }];
    if (kind === 5) return [{ ...base, ...subject(), class: Class.any, type: Type.any, data: NO_DATA }];
    if (kind === 6) return [{ ...base, ...subject(), class: Class.any, data: NO_DATA }];
    return [{ ...base, ...subject(), class: Class.none }];
  };
  const count = 1 + number(4);
  const prerequisites = isOneOf(2) ? 0 : number(3);
  const sections = Array.from({ length: count + prerequisites }, (_, i) =>
    i < prerequisites ? 'answer' : 'authority',
  );
  return sections.flatMap((section) => {
    if (isOneOf(30)) return [odd(section as Instruction['section'])];
    return section === 'answer' ? prerequisite() : instruction();
  });
}

/** The message, without a signature. Its names are not compressed, and its data need not be what their types say. */
export function updateMessage(id: number, apex: Uint8Array, instructions: readonly Instruction[]): Uint8Array {
  const count = (wanted: Instruction['section']): number =>
    instructions.filter(({ section }) => section === wanted).length;
  const parts = [
    words(id, Opcode.update << 11, 1, count('answer'), count('authority'), 0),
    apex,
    words(Type.soa, Class.in),
  ];
  for (const { owner, type, ttl, data, class: of } of instructions) {
    const rdata = typeof data === 'string' ? parseRdata(type, data, ROOT) : data;
    parts.push(parseName(owner), words(type, of, ttl >>> 16, ttl & 0xffff, rdata.length), rdata);
  }
  return new Uint8Array(Buffer.concat(parts));
}

function words(...values: readonly number[]): Uint8Array {
  return Uint8Array.from(values.flatMap((value) => [value >> 8, value & 0xff]));
}
