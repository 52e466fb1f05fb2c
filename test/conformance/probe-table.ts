/** Header, EDNS and framing cases: the octets of a query, the expected answer, and its source. */
import { Class, Opcode, Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { type DecodedMessage, decodeMessage, makeOpt, makeQuery, type QueryOptions } from '../support/message.js';

export interface Probe {
  readonly what: string;
  readonly rfc: string;
  readonly query: Buffer;
  readonly expect: 'silence' | ((answer: DecodedMessage) => boolean);
  /** Only on one kind of transport. */
  readonly only?: 'udp' | 'tcp';
  /** Why NSD, Knot and BIND, set up as they come, all do something else. */
  readonly ours?: string;
}

/** Whether the answer is what the probe expects; one that cannot be decoded is not. */
export function meets({ expect }: Probe, answer: Buffer | undefined): boolean {
  if (expect === 'silence' || answer === undefined) return expect === 'silence' && answer === undefined;
  try {
    const decoded = decodeMessage(answer);
    return decoded.qr && expect(decoded);
  } catch {
    return false;
  }
}

export const PROBE_APEX = 'probe.test.';
export const PROBE_SETTINGS = { version: 'probe', identity: 'node-1' };

const strings = (octets: number): string => {
  const parts: string[] = [];
  for (let left = octets; left > 0; ) {
    // A string takes one octet more than it holds, and one octet must not be left over.
    const next = left === 257 ? 200 : Math.min(left, 256);
    parts.push(`"${'x'.repeat(next - 1)}"`);
    left -= next;
  }
  return parts.join(' ');
};

/** Lengths of answers around what fits: 512 without EDNS, 1232 with it (OPT takes 11). */
const LENGTHS = [505, 508, 509, 510, 511, 512, 513, 514, 1220, 1221, 1222, 1231, 1232, 1233];
const fitOwner = (length: number): string => `fit${length}`;
const fitLine = (length: number): string => {
  const question = parseName(`${fitOwner(length)}.${PROBE_APEX}`).length + 4;
  return `${fitOwner(length)} 300 IN TXT ${strings(length - 12 - question - 12)}`;
};

export const PROBE_ZONE = `
@ 3600 IN SOA ns hostmaster 2026 7200 3600 1209600 300
@ 3600 IN NS ns
@ 3600 IN TXT "apex"
ns 3600 IN A 192.0.2.1
www 300 IN A 192.0.2.2
alias 300 IN CNAME www
sub 300 IN NS ns.sub
ns.sub 300 IN A 192.0.2.3
x.ent 300 IN A 192.0.2.4
big 300 IN TXT ${strings(1608)}
*.wild 300 IN TXT "wild"
${LENGTHS.map(fitLine).join('\n')}
${Array.from({ length: 60 }, (_, i) => `wide 300 IN AAAA 2001:db8::${i + 1}`).join('\n')}
${Array.from({ length: 13 }, (_, i) => `many 300 IN NS ns${i}.many\nns${i}.many 300 IN A 192.0.2.${i}\nns${i}.many 300 IN AAAA 2001:db8::${i}`).join('\n')}
${Array.from({ length: 13 }, (_, i) => `hosted 300 IN NS host${i}.hosts\nhost${i}.hosts 300 IN A 192.0.2.${i}\nhost${i}.hosts 300 IN AAAA 2001:db8::${i}`).join('\n')}
`;

const nameOf = (owner: string): Uint8Array => parseName(owner === '@' ? PROBE_APEX : `${owner}.${PROBE_APEX}`);
const ask = (owner: string, type: number, options: QueryOptions = {}): Buffer =>
  makeQuery(nameOf(owner), type, options);
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const patched = (message: Buffer, at: number, ...octets: number[]): Buffer => {
  const out = Buffer.from(message);
  Buffer.from(octets).copy(out, at);
  return out;
};
/** A query with other records behind the question, counted in the section whose count stands at `countAt`. */
const withRecords = (query: Buffer, countAt: number, ...records: Buffer[]): Buffer =>
  Buffer.concat([patched(query, countAt, 0, query.readUInt16BE(countAt) + records.length), ...records]);
const ANSWERS = 6;
const AUTHORITIES = 8;
const ADDITIONALS = 10;

const WWW = ask('www', Type.a);
const EDNS = ask('www', Type.a, { edns: 1232 });
const A_RECORD = hex('c00c 0001 0001 0000003c 0004 0a000001');
const option = (code: number, data = ''): Buffer => {
  const octets = hex(data);
  const header = Buffer.alloc(4);
  header.writeUInt16BE(code, 0);
  header.writeUInt16BE(octets.length, 2);
  return Buffer.concat([header, octets]);
};
const withOption = (code: number, data = '', owner = 'www', type: number = Type.a): Buffer =>
  ask(owner, type, { edns: 1232, options: option(code, data) });
const inClass = (rrClass: number, owner = 'www', type: number = Type.a): Buffer => ask(owner, type, { class: rrClass });
const chaos = (name: string, type: number = Type.txt): Buffer => makeQuery(parseName(name), type, { class: Class.ch });
const withOpcode = (opcode: number, options: QueryOptions = {}): Buffer =>
  ask('www', Type.a, { ...options, flags: opcode << 11 });
/** A message whose question section is these octets. */
const question = (octets: string): Buffer => Buffer.concat([hex('1234 0000 0001 0000 0000 0000'), hex(octets)]);

/** Signs with a key that does not exist; the MAC is anything. */
function signed(query: Buffer, key: Uint8Array = parseName('key.test.')): Buffer {
  const algorithm = Buffer.from(parseName('hmac-sha256.'));
  const rest = Buffer.concat([hex('00006553f100 012c 0020'), Buffer.alloc(32, 5), hex('1234 0000 0000')]);
  const fixed = hex('00fa 00ff 00000000 0000');
  fixed.writeUInt16BE(algorithm.length + rest.length, 8);
  return withRecords(query, ADDITIONALS, Buffer.concat([key, fixed, algorithm, rest]));
}

type Where = Pick<Probe, 'only' | 'ours'>;
function row(what: string, rfc: string, query: Buffer, expect: Probe['expect'], where: Where = {}): Probe {
  return { what, rfc, query, expect, ...where };
}

type Check = (answer: DecodedMessage) => boolean;
const rcode =
  (...wanted: readonly number[]): Check =>
  (answer) =>
    wanted.includes(answer.rcode) && answer.answer.length === 0;
const formErr: Check = (a) => a.rcode === Rcode.formErr && a.answer.length === 0 && a.authority.length === 0;
const brokenQuestion: Check = (a) => formErr(a) && a.question.length === 0;
const normal: Check = (a) => a.rcode === 0 && a.answer.length === 1 && a.aa && !a.ra && !a.tc && !a.z && !a.ad;
const withOpt: Check = (a) => normal(a) && a.opt?.version === 0 && a.opt.size === 1232;
const noData: Check = (a) => a.rcode === 0 && a.aa && a.answer.length === 0 && a.authority[0]?.type === Type.soa;
const refused: Check = (a) => a.rcode === Rcode.refused && !a.aa && a.answer.length + a.authority.length === 0;
const truncated: Check = (a) => a.rcode === 0 && a.tc && a.length <= (a.opt ? 1232 : 512);
const optionsOf =
  (wanted: string): Check =>
  (a) =>
    withOpt(a) && a.opt?.options.equals(hex(wanted)) === true;
const both =
  (...checks: readonly Check[]): Check =>
  (a) =>
    checks.every((check) => check(a));
const hasOpt: Check = (a) => a.opt !== undefined;
const noOpt: Check = (a) => a.opt === undefined;

const HEADER: readonly Probe[] = [
  row('a question', 'RFC 1035 §4.1', WWW, both(normal, noOpt)),
  row('a response', 'RFC 1035 §7.3', patched(WWW, 2, 0x80), 'silence', { only: 'udp' }),
  row('a response with an unknown opcode', 'RFC 1035 §7.3', patched(WWW, 2, 0xf8), 'silence', { only: 'udp' }),
  row('a whole answer', 'RFC 1035 §7.3', withRecords(patched(WWW, 2, 0x84), ANSWERS, A_RECORD), 'silence', {
    only: 'udp',
  }),
  row('no octets', 'RFC 1035 §4.1.1', Buffer.alloc(0), 'silence', { only: 'udp' }),
  row('one octet', 'RFC 1035 §4.1.1', Buffer.alloc(1), 'silence', { only: 'udp' }),
  row('eleven octets', 'RFC 1035 §4.1.1', WWW.subarray(0, 11), 'silence', { only: 'udp' }),
  row(
    'the identifier comes back',
    'RFC 1035 §4.1.1',
    ask('www', Type.a, { id: 0xfffe }),
    (a) => normal(a) && a.id === 0xfffe,
  ),
  row('identifier 0', 'RFC 1035 §4.1.1', ask('www', Type.a, { id: 0 }), (a) => normal(a) && a.id === 0),
  row('RD is copied, RA clear', 'RFC 1035 §4.1.1', ask('www', Type.a, { flags: 0x0100 }), (a) => normal(a) && a.rd),
  row('RD is clear when it was', 'RFC 1035 §4.1.1', WWW, (a) => normal(a) && !a.rd),
  row('TC set', 'RFC 8906 §8.1', ask('www', Type.a, { flags: 0x0200 }), normal),
  row('AA set', 'RFC 8906 §8.1', ask('www', Type.a, { flags: 0x0400 }), normal),
  row('RA set', 'RFC 8906 §8.1', ask('www', Type.a, { flags: 0x0080 }), normal),
  row('Z set', 'RFC 8906 §8.1.3', ask('www', Type.a, { flags: 0x0040 }), normal),
  row('AD set', 'RFC 6840 §5.7', ask('www', Type.a, { flags: 0x0020 }), normal),
  row('CD set', 'RFC 4035 §3.1.6', ask('www', Type.a, { flags: 0x0010 }), normal),
  row('an rcode set', 'RFC 8906 §8.1', ask('www', Type.a, { flags: 0x000f }), normal),
  row('all of them set', 'RFC 8906 §8.1', ask('www', Type.a, { flags: 0x07ff }), (a) => normal(a) && a.rd),
  ...[Opcode.iquery, Opcode.status, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15].map((opcode) =>
    row(
      `opcode ${opcode}`,
      'RFC 1035 §4.1.1',
      withOpcode(opcode),
      (a) => rcode(Rcode.notImp)(a) && a.opcode === opcode && a.id === 0x1234,
    ),
  ),
  row(
    'opcode 2 in a header alone',
    'RFC 8906 §8.1.4',
    hex('1234 1000 0000 0000 0000 0000'),
    (a) => a.rcode === Rcode.notImp && a.opcode === 2 && a.id === 0x1234,
  ),
  row(
    'opcode 15 with OPT gets OPT',
    'RFC 6891 §6.1.1',
    withOpcode(15, { edns: 1232 }),
    both(rcode(Rcode.notImp), hasOpt),
  ),
  row(
    'NOTIFY',
    'RFC 1996 §3.10',
    ask('@', Type.soa, { flags: Opcode.notify << 11 }),
    (a) => rcode(Rcode.refused, Rcode.notAuth)(a) && a.opcode === Opcode.notify,
  ),
  row(
    'NOTIFY for a foreign zone',
    'RFC 1996 §3.10',
    makeQuery(parseName('other.test.'), Type.soa, { flags: Opcode.notify << 11 }),
    rcode(Rcode.refused, Rcode.notAuth),
  ),
  row(
    'UPDATE',
    'RFC 2136 §3.3',
    ask('@', Type.soa, { flags: Opcode.update << 11 }),
    (a) => rcode(Rcode.refused, Rcode.notAuth, Rcode.notImp)(a) && a.opcode === Opcode.update,
  ),
  row(
    'UPDATE of a foreign zone',
    'RFC 2136 §3.1.2',
    makeQuery(parseName('other.test.'), Type.soa, { flags: Opcode.update << 11 }),
    rcode(Rcode.refused, Rcode.notAuth, Rcode.notImp),
  ),
];

const SECTIONS: readonly Probe[] = [
  row('a header alone', 'RFC 9619 §4', hex('1234 0000 0000 0000 0000 0000'), brokenQuestion),
  row(
    'QDCOUNT 0 with OPT',
    'RFC 9619 §4',
    Buffer.concat([hex('1234 0000 0000 0000 0000 0001'), makeOpt({})]),
    brokenQuestion,
  ),
  row('QDCOUNT 0 with a question', 'RFC 9619 §4', patched(WWW, 5, 0), brokenQuestion),
  row('QDCOUNT 2', 'RFC 9619 §4', Buffer.concat([patched(WWW, 5, 2), WWW.subarray(12)]), formErr),
  row('QDCOUNT 2 with one question', 'RFC 9619 §4', patched(WWW, 5, 2), formErr),
  row('QDCOUNT 65535', 'RFC 9619 §4', patched(WWW, 4, 0xff, 0xff), formErr),
  row('ANCOUNT without a record', 'RFC 1035 §4.1.1', patched(WWW, 7, 1), formErr),
  row('NSCOUNT without a record', 'RFC 1035 §4.1.1', patched(WWW, 9, 1), formErr),
  row('ARCOUNT without a record', 'RFC 1035 §4.1.1', patched(WWW, 11, 1), formErr),
  row('ARCOUNT 65535 with OPT', 'RFC 1035 §4.1.1', patched(EDNS, 10, 0xff, 0xff), formErr),
  row(
    'a record in the answer section',
    'RFC 1035 §4.1',
    withRecords(WWW, ANSWERS, A_RECORD),
    (a) => normal(a) || formErr(a),
  ),
  row(
    'a record in the authority section',
    'RFC 1035 §4.1',
    withRecords(WWW, AUTHORITIES, A_RECORD),
    (a) => normal(a) || formErr(a),
  ),
  row('a record in the additional section', 'RFC 1035 §4.1', withRecords(WWW, ADDITIONALS, A_RECORD), normal),
  row('a record before OPT', 'RFC 6891 §6.1.1', withRecords(WWW, ADDITIONALS, A_RECORD, makeOpt({})), withOpt),
  row('a record behind OPT', 'RFC 6891 §6.1.1', withRecords(WWW, ADDITIONALS, makeOpt({}), A_RECORD), withOpt),
  row(
    'a record whose rdata runs out',
    'RFC 1035 §4.1.3',
    withRecords(WWW, ADDITIONALS, A_RECORD.subarray(0, -1)),
    formErr,
  ),
  row(
    'a record whose header runs out',
    'RFC 1035 §4.1.3',
    withRecords(WWW, ADDITIONALS, A_RECORD.subarray(0, 7)),
    formErr,
  ),
  row(
    'one octet behind the message',
    'RFC 1035 §4.2',
    Buffer.concat([WWW, Buffer.alloc(1)]),
    (a) => normal(a) || formErr(a),
  ),
  row(
    'many octets behind the message',
    'RFC 1035 §4.2',
    Buffer.concat([WWW, Buffer.alloc(400, 7)]),
    (a) => normal(a) || formErr(a),
  ),
];

const NAMES: readonly Probe[] = [
  row('a question without a type', 'RFC 1035 §4.1.2', WWW.subarray(0, WWW.length - 4), brokenQuestion),
  row('a question that ends early', 'RFC 1035 §4.1.2', WWW.subarray(0, WWW.length - 1), brokenQuestion),
  row('a name that runs out', 'RFC 1035 §3.1', WWW.subarray(0, 20), brokenQuestion),
  row('a label longer than the message', 'RFC 1035 §3.1', question('3f 6161'), brokenQuestion),
  row('a pointer to itself', 'RFC 1035 §4.1.4', question('c00c 0001 0001'), brokenQuestion),
  row('two pointers in a circle', 'RFC 1035 §4.1.4', question('c00e c00c 0001 0001'), brokenQuestion),
  row('a pointer forward', 'RFC 1035 §4.1.4', question('c012 0001 0001 0161 00'), brokenQuestion),
  row('a pointer into the header', 'RFC 1035 §4.1.4', question('0377 7777 c004 0001 0001'), brokenQuestion),
  row('a pointer past the end', 'RFC 1035 §4.1.4', question('ffff 0001 0001'), brokenQuestion),
  row('half a pointer', 'RFC 1035 §4.1.4', question('c0'), brokenQuestion),
  row('label type 01', 'RFC 6891 §5', question('41 00 0001 0001'), brokenQuestion),
  row('label type 10', 'RFC 6891 §5', question('81 00 0001 0001'), brokenQuestion),
  row('a bit string label', 'RFC 6891 §5', question('41 08 aa 00 0001 0001'), brokenQuestion),
  row('a name of 255 octets', 'RFC 1035 §2.3.4', question(`${'0161'.repeat(127)}00 0001 0001`), refused),
  row('a name of 256 octets', 'RFC 1035 §2.3.4', question(`${'0161'.repeat(126)}026161 00 0001 0001`), brokenQuestion),
  row('a name of 257 octets', 'RFC 1035 §2.3.4', question(`${'0161'.repeat(128)}00 0001 0001`), brokenQuestion),
  row('a name of 1000 octets', 'RFC 1035 §2.3.4', question(`${'0161'.repeat(500)}00 0001 0001`), brokenQuestion),
  row(
    'the question keeps its case',
    'RFC 4343 §4.1',
    makeQuery(parseName('wWw.PrObE.tEsT.'), Type.a),
    (a) => normal(a) && a.question.includes('\x03wWw\x05PrObE\x04tEsT'),
  ),
  row(
    'octets that look like letters with another bit do not fold',
    'RFC 4343 §3',
    question('03 57 57 d7 0570726f6265 0474657374 00 0001 0001'),
    rcode(Rcode.nxDomain),
  ),
  row(
    'a dot inside a label is not a dot',
    'RFC 1035 §5.1',
    question('09 7777772e70726f6265 0474657374 00 0001 0001'),
    refused,
  ),
];

const OPT: readonly Probe[] = [
  row('EDNS', 'RFC 6891 §6.1.1', EDNS, (a) => withOpt(a) && a.opt?.dnssecOk === false && a.opt.options.length === 0),
  row(
    'DO comes back',
    'RFC 3225 §3',
    ask('www', Type.a, { edns: 1232, dnssecOk: true }),
    (a) => withOpt(a) && a.opt?.dnssecOk === true,
  ),
  row(
    'unknown EDNS flags',
    'RFC 6891 §6.1.4',
    patched(EDNS, WWW.length + 7, 0x7f, 0xff),
    (a) => withOpt(a) && a.opt?.dnssecOk === false,
  ),
  row('an rcode in OPT', 'RFC 6891 §6.1.3', patched(EDNS, WWW.length + 5, 0xff), withOpt),
  ...[1, 100, 255].map((version) =>
    row(
      `EDNS version ${version}`,
      'RFC 6891 §6.1.3',
      ask('www', Type.a, { edns: 1232, version }),
      (a) => rcode(Rcode.badVers)(a) && a.opt?.version === 0,
    ),
  ),
  row(
    'EDNS version 1 with an unknown option',
    'RFC 8906 §8.2.6',
    ask('www', Type.a, { edns: 1232, version: 1, options: option(100) }),
    (a) => rcode(Rcode.badVers)(a) && a.opt?.options.length === 0,
  ),
  row(
    'EDNS version 1 for a foreign name',
    'RFC 6891 §6.1.3',
    makeQuery(parseName('other.test.'), Type.a, { edns: 1232, version: 1 }),
    both(rcode(Rcode.badVers), hasOpt),
  ),
  row(
    'EDNS version 1 with DO',
    'RFC 8906 §8.2.7',
    ask('www', Type.a, { edns: 1232, version: 1, dnssecOk: true }),
    both(rcode(Rcode.badVers), hasOpt),
  ),
  row('an unknown option', 'RFC 6891 §6.1.2', withOption(0xfde9, 'abcd'), optionsOf('')),
  row('an unknown option without data', 'RFC 8906 §8.2.2', withOption(100), optionsOf('')),
  row(
    'twenty unknown options',
    'RFC 6891 §6.1.2',
    ask('www', Type.a, {
      edns: 1232,
      options: Buffer.concat(Array.from({ length: 20 }, (_, i) => option(65001 + i, 'ff'))),
    }),
    optionsOf(''),
  ),
  row(
    'an unknown flag and an unknown option',
    'RFC 8906 §8.2.4',
    patched(withOption(100), WWW.length + 7, 0, 0x80),
    optionsOf(''),
  ),
  row(
    'an option that runs out',
    'RFC 6891 §6.1.2',
    ask('www', Type.a, { edns: 1232, options: hex('fde9 0009 ab') }),
    formErr,
  ),
  row('half an option header', 'RFC 6891 §6.1.2', ask('www', Type.a, { edns: 1232, options: hex('fde9 00') }), formErr),
  row('OPT rdata that runs out', 'RFC 6891 §6.1.2', patched(EDNS, EDNS.length - 2, 0, 9), formErr),
  row('two OPT records', 'RFC 6891 §6.1.1', withRecords(EDNS, ADDITIONALS, makeOpt({})), formErr),
  row(
    'OPT with a name',
    'RFC 6891 §6.1.2',
    withRecords(WWW, ADDITIONALS, Buffer.concat([hex('0161'), makeOpt({})])),
    (a) => formErr(a) || normal(a),
  ),
  row('OPT in the answer section', 'RFC 6891 §6.1.1', withRecords(WWW, ANSWERS, makeOpt({})), formErr),
  row('OPT in the authority section', 'RFC 6891 §6.1.1', withRecords(WWW, AUTHORITIES, makeOpt({})), formErr),
  ...[0, 1, 511, 512, 513, 1231, 1233, 4096, 65535].map((edns) =>
    row(`EDNS size ${edns}`, 'RFC 6891 §6.2.3', ask('www', Type.a, { edns }), withOpt),
  ),
  row(
    'EDNS size 0 counts as 512',
    'RFC 6891 §6.2.3',
    ask(fitOwner(508), Type.txt, { edns: 0 }),
    (a) => truncated(a) && hasOpt(a),
    { only: 'udp' },
  ),
  row('NSID', 'RFC 5001 §2.2', withOption(3), optionsOf('0003 0006 6e6f64652d31'), { ours: 'they have another name' }),
  row('NSID with data', 'RFC 5001 §2.1', withOption(3, 'ff'), withOpt),
  row('client subnet', 'RFC 7871 §7.2.1', withOption(8, '0001 18 00 c00002'), withOpt),
  row('client cookie', 'RFC 7873 §5.2', withOption(10, '0123456789abcdef'), withOpt),
  row('client and server cookie', 'RFC 7873 §5.2', withOption(10, '0123456789abcdef0123456789abcdef'), withOpt),
  row('a cookie of 7 octets', 'RFC 7873 §5.2.2', withOption(10, '0123456789abcd'), (a) => withOpt(a) || formErr(a)),
  row('idle time is told over TCP', 'RFC 7828 §3.2.1', withOption(11), optionsOf('000b 0002 0064'), {
    only: 'tcp',
    ours: 'other idle times, or no such option',
  }),
  row('idle time means nothing over UDP', 'RFC 7828 §3.2.1', withOption(11), optionsOf(''), { only: 'udp' }),
  row(
    'how long a secondary may serve the zone',
    'RFC 7314 §3.2',
    withOption(9, '', '@', Type.soa),
    optionsOf('0009 0004 00127500'),
    { ours: 'some tell it in transfers only' },
  ),
  row('expiry of another type', 'RFC 7314 §3.2', withOption(9), optionsOf('')),
  row('padding is not for the clear', 'RFC 8467 §4.1', withOption(12, '00'.repeat(100)), withOpt),
  row(
    'the version of the zone',
    'RFC 9660 §3.1',
    withOption(19, '', 'nothing'),
    (a) => a.rcode === Rcode.nxDomain && a.opt?.options.equals(hex('0013 0006 02 00 000007ea')) === true,
    { ours: 'none of them has it yet' },
  ),
  row(
    'NXDOMAIN with OPT',
    'RFC 6891 §6.1.1',
    ask('nothing', Type.a, { edns: 1232 }),
    both(rcode(Rcode.nxDomain), hasOpt),
  ),
  row(
    'REFUSED with OPT',
    'RFC 6891 §6.1.1',
    makeQuery(parseName('other.test.'), Type.a, { edns: 1232 }),
    both(refused, hasOpt),
  ),
  row('FORMERR with OPT', 'RFC 6891 §6.1.1', Buffer.concat([patched(EDNS, 11, 2), A_RECORD.subarray(0, 5)]), formErr),
  row(
    'a referral with OPT',
    'RFC 6891 §6.1.1',
    ask('x.sub', Type.a, { edns: 1232 }),
    (a) => !a.aa && a.authority.length === 1 && hasOpt(a),
  ),
  row(
    'a referral with OPT and DO',
    'RFC 4035 §3.1.4',
    ask('x.sub', Type.a, { edns: 1232, dnssecOk: true }),
    (a) => !a.aa && a.authority.length === 1 && a.opt?.dnssecOk === true,
  ),
];

const TYPES: readonly Probe[] = [
  ...[Type.rrsig, Type.nsec, Type.nsec3, 666, 65280, 65534, 65535].map((type) =>
    row(`type ${type}`, 'RFC 3597 §2', ask('www', type), noData),
  ),
  ...[0, Type.opt, 249, Type.tsig, 253, 254].map((type) =>
    row(`type ${type}`, 'RFC 6895 §3.1', ask('www', type), (a) => noData(a) || rcode(Rcode.formErr, Rcode.notImp)(a)),
  ),
  row('type 65280 of a missing name', 'RFC 3597 §2', ask('nothing', 65280), rcode(Rcode.nxDomain)),
  row('AXFR over UDP', 'RFC 5936 §4.2', ask('@', Type.axfr), rcode(Rcode.notImp, Rcode.formErr, Rcode.refused), {
    only: 'udp',
  }),
  row('AXFR is for nobody', 'RFC 5936 §5', ask('@', Type.axfr), rcode(Rcode.refused, Rcode.notAuth), { only: 'tcp' }),
  row(
    'AXFR of a foreign zone',
    'RFC 5936 §2.2.1',
    makeQuery(parseName('other.test.'), Type.axfr),
    rcode(Rcode.refused, Rcode.notAuth),
    { only: 'tcp' },
  ),
  row(
    'IXFR over UDP is the SOA',
    'RFC 1995 §2',
    ask('@', Type.ixfr),
    (a) => a.rcode === 0 && a.answer.length === 1 && a.answer[0]?.type === Type.soa,
    { only: 'udp', ours: 'they refuse transfers, or want the SOA in the query' },
  ),
  row('ANY is one RRset', 'RFC 8482 §4.1', ask('@', Type.any), (a) => a.rcode === 0 && a.answer.length === 1),
  row(
    'ANY at an alias is the alias',
    'RFC 8482 §4.1',
    ask('alias', Type.any),
    (a) => a.answer.length === 1 && a.answer[0]?.type === Type.cname,
  ),
  row('ANY at an empty non-terminal', 'RFC 8020 §2', ask('ent', Type.any), noData),
  row('ANY of a missing name', 'RFC 2308 §2.1', ask('nothing', Type.any), rcode(Rcode.nxDomain)),
  row(
    'ANY of a wildcard',
    'RFC 4592 §2.2.1',
    ask('x.wild', Type.any),
    (a) => normal(a) && a.answer[0]?.owner === 'x.wild.probe.test.',
  ),
  row(
    'ANY below a cut',
    'RFC 1034 §4.3.2',
    ask('x.sub', Type.any),
    (a) => !a.aa && a.answer.length === 0 && a.authority.length === 1,
  ),
  row('ANY of a foreign name', 'RFC 8482 §4', makeQuery(parseName('other.test.'), Type.any), refused),
  row(
    'NXDOMAIN has the negative TTL',
    'RFC 2308 §3',
    ask('nothing', Type.a),
    (a) => a.rcode === Rcode.nxDomain && a.aa && a.authority[0]?.type === Type.soa && a.authority[0].ttl === 300,
  ),
  row('SOA asked for keeps its TTL', 'RFC 2308 §3', ask('@', Type.soa), (a) => normal(a) && a.answer[0]?.ttl === 3600),
  row('NODATA at an empty non-terminal', 'RFC 8020 §2', ask('ent', Type.a), noData),
  row('a name of no zone', 'RFC 1034 §4.3.1', makeQuery(parseName('other.test.'), Type.a), both(refused, noOpt)),
  row(
    'a name of no zone says why',
    'RFC 8914 §4.21',
    makeQuery(parseName('other.test.'), Type.a, { edns: 1232 }),
    (a) => refused(a) && a.opt?.options.equals(hex('000f 0002 0014')) === true,
  ),
  row('the parent of the zone', 'RFC 1034 §4.3.1', makeQuery(parseName('test.'), Type.ns), refused),
  row('DS of the apex without a parent', 'RFC 4035 §3.1.4.1', ask('@', Type.ds), noData),
  row('the root', 'RFC 1034 §4.3.1', makeQuery(parseName('.'), Type.ns), refused),
];

const CLASSES: readonly Probe[] = [
  ...[0, 2, Class.hs, Class.none, 1000, 65280, 65535].map((rrClass) =>
    row(`class ${rrClass}`, 'RFC 1035 §3.2.4', inClass(rrClass), rcode(Rcode.refused, Rcode.formErr, Rcode.notImp)),
  ),
  row(
    'class ANY',
    'RFC 1035 §3.2.5',
    inClass(Class.any),
    (a) => a.rcode === 0 && a.answer.length === 1 && a.answer[0]?.class === Class.in,
  ),
  row('class ANY of a missing name', 'RFC 1035 §3.2.5', inClass(Class.any, 'nothing'), rcode(Rcode.nxDomain)),
  row(
    'version.bind',
    'RFC 4892 §2',
    chaos('VERSION.bind.'),
    (a) => a.rcode === 0 && a.answer[0]?.rdata === '0570726f6265' && a.answer[0].class === Class.ch,
    { ours: 'they have another version' },
  ),
  row(
    'version.server',
    'RFC 4892 §2',
    chaos('version.server.'),
    (a) => a.rcode === 0 && a.answer[0]?.rdata === '0570726f6265',
    { ours: 'they have another version' },
  ),
  row(
    'id.server',
    'RFC 4892 §2',
    chaos('id.server.'),
    (a) => a.answer[0]?.rdata === '066e6f64652d31' && a.answer[0].ttl === 0,
    { ours: 'they have another name' },
  ),
  row('hostname.bind', 'RFC 4892 §3', chaos('hostname.bind.'), (a) => a.answer[0]?.rdata === '066e6f64652d31', {
    ours: 'they have another name',
  }),
  row(
    'version.bind with ANY',
    'RFC 4892 §2',
    chaos('version.bind.', Type.any),
    (a) => a.rcode === 0 && a.answer.length === 1,
  ),
  row('another CH name', 'RFC 4892 §2', chaos('nobody.bind.'), rcode(Rcode.refused)),
  row('the zone in class CH', 'RFC 1035 §3.2.4', inClass(Class.ch), rcode(Rcode.refused)),
  row('the root in class CH', 'RFC 1035 §3.2.4', chaos('.'), rcode(Rcode.refused)),
];

const ROOM: readonly Probe[] = [
  ...LENGTHS.map((length) =>
    row(
      `${length} octets without EDNS`,
      'RFC 1035 §4.2.1',
      ask(fitOwner(length), Type.txt),
      length <= 512 ? (a) => normal(a) && a.length === length : (a) => truncated(a) && a.answer.length === 0,
      { only: 'udp' },
    ),
  ),
  ...LENGTHS.filter((length) => length > 1000).map((length) =>
    row(
      `${length} + 11 octets with EDNS`,
      'RFC 6891 §6.2.3',
      ask(fitOwner(length), Type.txt, { edns: 1232 }),
      length <= 1221 ? (a) => withOpt(a) && a.length === length + 11 : (a) => truncated(a) && hasOpt(a),
      { only: 'udp' },
    ),
  ),
  ...[512, 513, 520, 524, 600].map((edns) =>
    row(
      `513 + 11 octets with EDNS size ${edns}`,
      'RFC 6891 §6.2.3',
      ask(fitOwner(513), Type.txt, { edns }),
      edns >= 524 ? withOpt : (a) => truncated(a) && hasOpt(a) && a.length <= edns,
      { only: 'udp' },
    ),
  ),
  row(
    'more than 1232 octets with EDNS 4096',
    'RFC 6891 §6.2.5',
    ask('big', Type.txt, { edns: 4096 }),
    both(truncated, hasOpt),
    { only: 'udp' },
  ),
  row('large answers by TCP are whole', 'RFC 7766 §5', ask('big', Type.txt), (a) => normal(a) && a.length > 1600, {
    only: 'tcp',
  }),
  row(
    'EDNS size does not matter to TCP',
    'RFC 6891 §6.2.5',
    ask('big', Type.txt, { edns: 512 }),
    (a) => withOpt(a) && a.length > 1600,
    { only: 'tcp' },
  ),
  row(
    'an RRset is whole or TC is set',
    'RFC 2181 §9',
    ask('wide', Type.aaaa, { edns: 1232 }),
    both(truncated, hasOpt),
    { only: 'udp' },
  ),
  row('glue that does not fit sets TC', 'RFC 9471 §3.1', ask('x.many', Type.a), (a) => a.tc, { only: 'udp' }),
  row(
    'all glue with EDNS',
    'RFC 9471 §3.1',
    ask('x.many', Type.a, { edns: 1232 }),
    (a) => !a.tc && !a.aa && a.authority.length === 13 && a.additional.length === 26,
    { only: 'udp' },
  ),
  row(
    'all glue by TCP',
    'RFC 9471 §3.1',
    ask('x.many', Type.a),
    (a) => !a.tc && !a.aa && a.authority.length === 13 && a.additional.length === 26,
    { only: 'tcp' },
  ),
  row(
    'addresses above the cut may be left out',
    'RFC 9471 §2.3',
    ask('x.hosted', Type.a),
    (a) => !a.tc && !a.aa && a.authority.length === 13,
    { only: 'udp' },
  ),
  row(
    'truncated with a question in mixed case',
    'RFC 4343 §4.1',
    makeQuery(parseName('BIG.pRoBe.test.'), Type.txt),
    (a) => truncated(a) && a.question.includes('\x03BIG\x05pRoBe'),
    { only: 'udp' },
  ),
];

const TSIG: readonly Probe[] = [
  row(
    'a key nobody knows',
    'RFC 8945 §5.2.1',
    signed(WWW),
    (a) =>
      a.rcode === Rcode.notAuth &&
      a.additional[0]?.type === Type.tsig &&
      a.additional[0].rdata.endsWith('0000123400110000'),
  ),
  row(
    'a key nobody knows, with OPT',
    'RFC 8945 §5.2.1',
    signed(EDNS),
    (a) => a.rcode === Rcode.notAuth && hasOpt(a) && a.additional[0]?.type === Type.tsig,
  ),
  row('TSIG that is not last', 'RFC 8945 §5.1', withRecords(signed(WWW), ADDITIONALS, makeOpt({})), formErr),
  row(
    'two TSIG records',
    'RFC 8945 §5.1',
    Buffer.concat([patched(signed(WWW), 11, 2), signed(WWW).subarray(WWW.length)]),
    formErr,
  ),
  row('TSIG in the answer section', 'RFC 8945 §5.1', patched(signed(WWW), 7, 1, 0, 0, 0, 0), formErr),
  row('TSIG of class IN', 'RFC 8945 §4.2', patched(signed(WWW), WWW.length + 12, 0, 1), formErr),
  row('TSIG with a TTL', 'RFC 8945 §4.2', patched(signed(WWW), WWW.length + 17, 1), formErr),
  row(
    'TSIG without rdata',
    'RFC 8945 §5.2',
    withRecords(WWW, ADDITIONALS, hex('0161 00 00fa 00ff 00000000 0000')),
    rcode(Rcode.formErr, Rcode.notAuth),
  ),
  row(
    'a key name that points into the question',
    'RFC 8945 §4.2',
    withRecords(WWW, ADDITIONALS, Buffer.concat([hex('c00c'), signed(WWW).subarray(WWW.length + 10)])),
    rcode(Rcode.formErr, Rcode.notAuth),
  ),
  row(
    'a key name of 300 octets',
    'RFC 1035 §2.3.4',
    signed(WWW, hex(`${'0161'.repeat(150)}00`)),
    rcode(Rcode.formErr, Rcode.notAuth),
  ),
];

export const PROBES: readonly Probe[] = [
  ...HEADER,
  ...SECTIONS,
  ...NAMES,
  ...OPT,
  ...TYPES,
  ...CLASSES,
  ...ROOM,
  ...TSIG,
];
