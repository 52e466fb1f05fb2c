/** Random messages of RFC 2136, good and bad: any class, type, TTL and data at names where something special may stand. */
import type { Random } from '../../src/base/random.js';
import { Class, Opcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { parseRdata } from '../../src/dns/rr/registry.js';

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
];
const DATA: readonly (readonly [type: number, ...contents: string[]])[] = [
  [Type.a, '192.0.2.10', '192.0.2.11', '192.0.2.1', '192.0.2.77'],
  [Type.aaaa, '2001:db8::1', '2001:db8::2'],
  [Type.txt, '"one"', '"w"', '"One"', '"o" "ne"', '""'],
  [Type.cname, 'a.example.com.', 'A.example.com.', 'b.example.com.'],
  [Type.ns, 'ns.example.com.', 'ns2.example.net.', 'NS.example.com.'],
  [Type.mx, '10 mail.example.com.', '10 MAIL.example.com.', '20 mail.example.com.'],
  [Type.dname, 'example.net.', 'example.org.'],
  [
    Type.soa,
    'ns.example.com. hostmaster.example.com. 7 3600 600 86400 60',
    'ns.example.com. hostmaster.example.com. 1 3600 600 86400 60',
  ],
  [Type.srv, '1 2 3 a.example.com.'],
  [65280, '\\# 3 010203'],
];
/** Types that are no data, or that only a signer makes. */
const ODD_TYPES = [Type.any, Type.any, Type.any, 252, 251, 253, 254, 250, 249, 41, 0];
const TTLS = [0, 0, 0, 60, 60, 300, 1, 2_147_483_647];

const DELEGATION = { owner: 'sub.example.com.', type: Type.ns, class: Class.in, ttl: 60, data: 'ns.sub.example.com.' };

/** `serial`: of the zone now. One to four records. */
export function randomUpdate(random: Random, serial: number): Instruction[] {
  const number = (below: number): number => ((random.bytes(1)[0]! << 8) | random.bytes(1)[0]!) % below;
  const pick = <Value>(list: readonly Value[]): Value => list[number(list.length)]!;
  const owner = (): string => (number(30) === 0 ? 'elsewhere.org.' : `${pick(NAMES)}example.com.`);
  const contents = (): { type: number; data: string } => {
    const [type, ...all] = pick(DATA);
    const data = pick(all);
    return { type, data: type === Type.soa ? data.replace(' 7 ', ` ${serial + number(5)} `) : data };
  };
  const one = (section: Instruction['section'], isOdd = false): Instruction => {
    const { type, data } = contents();
    const isPrerequisite = section === 'answer';
    const kind = number(isPrerequisite ? 5 : 9);
    const base = { section, owner: owner(), type, ttl: 0 };
    const none = new Uint8Array(0);
    if (isOdd) {
      const odd = {
        type: number(2) ? pick(ODD_TYPES) : type,
        class: pick([Class.in, Class.any, Class.none, 3, 0]),
        ttl: pick(TTLS),
      };
      return { ...base, ...odd, data: number(2) ? none : new Uint8Array([1, 2, 3, 4]) };
    }
    if (isPrerequisite) {
      if (kind === 0) return { ...base, class: Class.any, type: Type.any, data: none };
      if (kind === 1) return { ...base, class: Class.none, type: Type.any, data: none };
      if (kind === 2) return { ...base, class: Class.any, data: none };
      if (kind === 3) return { ...base, class: Class.none, data: none };
      return { ...base, class: Class.in, data };
    }
    if (kind < 5) {
      // Delegations stand alone here, which is a rule of the API.
      const isDelegation = base.owner === 'sub.example.com.';
      if (isDelegation !== (type === Type.ns) && base.owner !== 'example.com.') return { ...base, ...DELEGATION };
      // RFC 2136 §3.4.2.2 ignores it elsewhere; BIND refuses the message.
      const own = type === Type.soa ? { owner: 'example.com.' } : {};
      return { ...base, ...own, class: Class.in, ttl: pick(TTLS), data };
    }
    if (kind === 5) return { ...base, class: Class.any, type: Type.any, data: none };
    if (kind === 6) return { ...base, class: Class.any, data: none };
    return { ...base, class: Class.none, data };
  };
  // Anything at all, alone: in which order a message with two faults is judged is not compared.
  if (number(12) === 0) return [one(number(2) ? 'answer' : 'authority', true)];
  const sections = Array.from({ length: 1 + number(4) }, () =>
    number(4) === 0 ? ('answer' as const) : ('authority' as const),
  );
  return sections.sort().map((section) => one(section));
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
