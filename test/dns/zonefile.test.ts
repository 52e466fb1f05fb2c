/**
 * Master files: which must load, which must be refused with their message, $GENERATE, $INCLUDE, round trips, and
 * comparison with BIND.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { formatIssue, type Issue } from '../../src/base/result.js';
import { nameOfLabels, parseName, printName, ROOT } from '../../src/dns/name.js';
import { printRdata, typeMnemonic } from '../../src/dns/rr/registry.js';
import { createLexer } from '../../src/dns/zonefile/lexer.js';
import { type ParsedRecord, readZone, type ZoneFileBounds } from '../../src/dns/zonefile/parser.js';
import { detectOrigin } from '../../src/dns/zonefile/source.js';
import {
  NO_ATTRIBUTES,
  parseAttributes,
  printAttributes,
  printRecord,
  writeV4Export,
} from '../../src/dns/zonefile/writer.js';

const ORIGIN = parseName('example.test.');
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-zonefile-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

function read(text: string | Uint8Array, origin: Uint8Array = ORIGIN): { records: ParsedRecord[]; issues: string[] } {
  const reading = readZone({ text }, { origin });
  const records = [...reading.records()].flat();
  return { records, issues: reading.issues.map(formatIssue) };
}

const print = ({ owner, ttl, type, rdata }: ParsedRecord): string =>
  `${printName(owner)} ${ttl ?? '-'} ${typeMnemonic(type)} ${printRdata(type, rdata)}`;

const GOOD: readonly [what: string, text: string | Uint8Array, ...records: string[]][] = [
  [
    'CRLF line ends',
    'a 60 A 192.0.2.1\r\nb 60 A 192.0.2.2\r\n',
    'a.example.test. 60 A 192.0.2.1',
    'b.example.test. 60 A 192.0.2.2',
  ],
  ['no newline at the end', 'a 60 A 192.0.2.1', 'a.example.test. 60 A 192.0.2.1'],
  [
    'class before and behind the TTL',
    'a IN 60 A 192.0.2.1\na 60 IN A 192.0.2.2\n',
    'a.example.test. 60 A 192.0.2.1',
    'a.example.test. 60 A 192.0.2.2',
  ],
  ['class by number', 'a CLASS1 60 A 192.0.2.1', 'a.example.test. 60 A 192.0.2.1'],
  ['lower case throughout', '$ttl 5\n$origin x.test.\na in a 192.0.2.1\n', 'a.x.test. 5 A 192.0.2.1'],
  ['a relative $ORIGIN', '$ORIGIN sub\na 1 A 192.0.2.1\n', 'a.sub.example.test. 1 A 192.0.2.1'],
  ['TTL with units', 'a 1h30m A 192.0.2.1\n', 'a.example.test. 5400 A 192.0.2.1'],
  [
    '$TTL for what follows',
    '$TTL 60\na A 192.0.2.1\n$TTL 2m\nb A 192.0.2.2\n',
    'a.example.test. 60 A 192.0.2.1',
    'b.example.test. 120 A 192.0.2.2',
  ],
  [
    'the last explicit TTL without $TTL',
    'a 77 A 192.0.2.1\nb A 192.0.2.2\n',
    'a.example.test. 77 A 192.0.2.1',
    'b.example.test. 77 A 192.0.2.2',
  ],
  [
    'the last explicit TTL, if the SOA has one',
    '@ 55 SOA ns h 1 2 3 4 7200\na A 192.0.2.1\n',
    'example.test. 55 SOA ns.example.test. h.example.test. 1 2 3 4 7200',
    'a.example.test. 55 A 192.0.2.1',
  ],
  ['no TTL at all', 'a A 192.0.2.1\n', 'a.example.test. - A 192.0.2.1'],
  [
    'an inherited owner',
    'a 1 A 192.0.2.1\n  1 A 192.0.2.2\n\t1 AAAA ::1\n',
    'a.example.test. 1 A 192.0.2.1',
    'a.example.test. 1 A 192.0.2.2',
    'a.example.test. 1 AAAA ::1',
  ],
  [
    'an inherited owner behind $ORIGIN',
    'a 1 A 192.0.2.1\n$ORIGIN other.test.\n 1 A 192.0.2.2\n',
    'a.example.test. 1 A 192.0.2.1',
    'a.example.test. 1 A 192.0.2.2',
  ],
  [
    'the same text under another origin',
    'a 1 A 192.0.2.1\n$ORIGIN other.test.\na 1 A 192.0.2.2\n',
    'a.example.test. 1 A 192.0.2.1',
    'a.other.test. 1 A 192.0.2.2',
  ],
  ['@ is the origin', '@ 1 NS @\n', 'example.test. 1 NS example.test.'],
  [
    'parentheses over lines',
    'a 1 SOA ( ns ; server\n h ( 1 2\n3 ) 4 5 )\n',
    'a.example.test. 1 SOA ns.example.test. h.example.test. 1 2 3 4 5',
  ],
  ['strings side by side', 'a 1 TXT "a""b" c\n', 'a.example.test. 1 TXT "a" "b" "c"'],
  ['semicolons and parentheses in quotes', 'a 1 TXT "a;b(c)"\n', 'a.example.test. 1 TXT "a;b(c)"'],
  ['escapes', 'a\\.b 1 TXT "\\"\\\\\\065"\n', 'a\\.b.example.test. 1 TXT "\\"\\\\A"'],
  ['@ in TXT is the character', 'a 1 TXT @\n', 'a.example.test. 1 TXT "@"'],
  ['octets above 127', Buffer.from('a 1 TXT "é"\n'), 'a.example.test. 1 TXT "\\195\\169"'],
  ['comments and empty lines', '; one\n\n   ; two\na 1 A 192.0.2.1 ; three\n', 'a.example.test. 1 A 192.0.2.1'],
  [
    'types by number and unknown data',
    'a 1 TYPE1 \\# 4 c0000201\nb 1 TYPE65280 \\# 2 ab cd\n',
    'a.example.test. 1 A 192.0.2.1',
    'b.example.test. 1 TYPE65280 \\# 2 abcd',
  ],
  [
    'a key with a quoted value',
    'a 1 HTTPS 1 . alpn="h2,h3" port=443\n',
    'a.example.test. 1 HTTPS 1 . alpn="h2,h3" port="443"',
  ],
  [
    'an owner like a type or class',
    'A 1 A 192.0.2.1\nIN 1 A 192.0.2.2\n',
    'A.example.test. 1 A 192.0.2.1',
    'IN.example.test. 1 A 192.0.2.2',
  ],
  ['$GENERATE', '$GENERATE 1-2 h$ 9 A 192.0.2.$\n', 'h1.example.test. 9 A 192.0.2.1', 'h2.example.test. 9 A 192.0.2.2'],
];

t.test('a byte order mark is skipped, and said', async (t) => {
  const { records, issues } = read(Buffer.from('\ufeffa 60 A 192.0.2.1\n'));
  t.equal(records.length, 1);
  t.strictSame(issues, [
    'zone:1:1: warning: the file begins with a byte order mark, which was skipped; other name servers may refuse it',
  ]);
});

t.test('files that must load', async (t) => {
  for (const [what, text, ...records] of GOOD) {
    const { records: parsed, issues } = read(text);
    t.strictSame(issues, [], what);
    t.strictSame(parsed.map(print).map(dropQuotedPort), records.map(dropQuotedPort), what);
  }
});

t.test('without any TTL the minimum of the SOA counts, as in BIND, with a warning', async (t) => {
  const text = (minimum: number): string =>
    `@ SOA ns h 1 2 3 4 ${minimum}\na A 192.0.2.1\nb 77 A 192.0.2.2\nc A 192.0.2.3\n`;
  const { records, issues } = read(text(7200));
  t.strictSame(
    records.map(({ ttl }) => ttl),
    [7200, 7200, 77, 7200],
  );
  t.strictSame(issues, [
    "zone:1:1: warning: the file gives no TTL: the minimum of the SOA, 7200, is taken (RFC 1035 §3.3.13) (at '@')",
  ]);
  t.match(read(text(2 ** 31)).records[1], { ttl: 0 }, 'too large a TTL is 0 (RFC 2181 §8)');
  const reading = readZone(
    { text: Buffer.from(text(7200)) },
    { origin: parseName('a.test.'), ignoresSoaMinimum: true },
  );
  t.strictSame(
    [...reading.records()].flat().map(({ ttl }) => ttl),
    [undefined, undefined, 77, 77],
    'an import of records makes them automatic',
  );
});

/** Whether a port is printed in quotes is the type's business. */
function dropQuotedPort(text: string): string {
  return text.replace('port="443"', 'port=443');
}

/** Too long for the list of lines in test/vectors/zones/refused.txt. */
const BAD: readonly [text: string, place: string, complaint: RegExp][] = [
  [`${'x.'.repeat(128)} 1 A 192.0.2.1`, '1:1', /255 octets/],
  [`a 1 TXT "${'x'.repeat(256)}"`, '1:9', /255/],
];

t.test('files that must be refused, with the position', async (t) => {
  for (const [text, place, complaint] of BAD) {
    const { records, issues } = read(`${text}\n`);
    t.equal(records.length, 0, `nothing is taken from: ${text.slice(0, 40)}`);
    t.equal(issues.length, 1, `one complaint: ${issues.join(' | ')}`);
    t.match(issues[0], complaint);
    if (place !== '') t.match(issues[0], `zone:${place}: error:`, text.slice(0, 40));
  }
});

t.test('all errors of a file are reported, and the valid records around them are read', async (t) => {
  const { records, issues } = read(
    'a 1 A 192.0.2.1\nb 1 A bad\nc 1 TXT "open\nd 1 A 192.0.2.4\n  1 A worse\n$FOO\ne 1 A 192.0.2.5\n',
  );
  t.strictSame(
    records.map(({ line }) => line),
    [1, 4, 7],
  );
  t.strictSame(
    issues.map((issue) => /^zone:(\d+)/.exec(issue)?.[1]),
    ['2', '3', '5', '6'],
  );
});

t.test('records after an invalid owner do not go to the previous owner', async (t) => {
  const { records } = read('a 1 A 192.0.2.1\nb..c 1 A 192.0.2.2\n  1 A 192.0.2.3\n');
  t.strictSame(records.map(print), ['a.example.test. 1 A 192.0.2.1']);
});

t.test('entries do not depend on how the octets are cut into chunks', async (t) => {
  const text = Buffer.from(
    '\ufeffa 1 TXT ( "x\\"y" ; c\n "(;" )\r\n b\\ c 1 A 192.0.2.1 ; end\n$TTL 5\nx HTTPS 1 . alpn="h2,\\"h3"\n',
    'utf8',
  );
  const lex = (sizes: readonly number[]): string => {
    const lexer = createLexer(true);
    const entries = [];
    let at = 0;
    for (const size of sizes) {
      entries.push(...lexer.feed(text.subarray(at, at + size)));
      at += size;
    }
    entries.push(...lexer.feed(text.subarray(at)), ...lexer.end());
    return JSON.stringify(entries);
  };
  const whole = lex([]);
  const property = fc.property(
    fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }),
    (sizes) => lex(sizes) === whole,
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 300, seed: 7 }));
});

t.test('an endless entry is refused without being stored', async (t) => {
  const lexer = createLexer(false);
  let faults = 0;
  for (let i = 0; i < 40; i++) for (const entry of lexer.feed(Buffer.alloc(1 << 16, 'x '))) if (entry.fault) faults++;
  t.equal(faults, 1);
  const rest = [...lexer.feed(Buffer.from('\nb 1 A 192.0.2.1\n')), ...lexer.end()];
  t.strictSame(
    rest.map(({ tokens }) => tokens[0]?.text),
    ['b'],
    'and reading goes on behind it',
  );
});

t.test('$INCLUDE stays inside the directory of the zone file', async (t) => {
  const zones = join(directory, 'zones');
  mkdirSync(join(zones, 'parts'), { recursive: true });
  writeFileSync(join(directory, 'secret'), 'secret 1 A 192.0.2.66\n');
  writeFileSync(join(zones, 'parts', 'hosts'), 'h 1 A 192.0.2.2\n 1 A 192.0.2.3\n');
  writeFileSync(join(zones, 'loop'), '$INCLUDE loop\n');
  symlinkSync(join(directory, 'secret'), join(zones, 'link'));
  const readFile = (text: string): { records: string[]; issues: string[] } => {
    const file = join(zones, 'zone');
    writeFileSync(file, text);
    const reading = readZone({ file }, { origin: ORIGIN, includeDirectory: zones });
    const records = [...reading.records()].flat().map(print);
    return { records, issues: reading.issues.map(({ message }) => message) };
  };
  t.strictSame(readFile('a 1 A 192.0.2.1\n$INCLUDE parts/hosts sub\n 1 A 192.0.2.4\n').records, [
    'a.example.test. 1 A 192.0.2.1',
    'h.sub.example.test. 1 A 192.0.2.2',
    'h.sub.example.test. 1 A 192.0.2.3',
    'a.example.test. 1 A 192.0.2.4',
  ]);
  for (const path of ['../secret', join(directory, 'secret'), 'link', '/etc/passwd', 'parts/../../secret']) {
    const { records, issues } = readFile(`$INCLUDE ${path}\n`);
    t.strictSame([records.length, issues.length], [0, 1], path);
    t.match(issues[0], /leads out/);
  }
  t.match(readFile('$INCLUDE loop\n').issues[0], /already being read/);
  t.match(readFile('$INCLUDE missing\n').issues[0], /cannot be read/);
});

t.test('the zone of a file', async (t) => {
  const detect = (text: string): string | undefined => {
    const origin = detectOrigin({ text });
    return origin && printName(origin);
  };
  t.equal(detect('x.test. SOA a. b. 1 2 3 4 5\n'), 'x.test.');
  t.equal(detect('$ORIGIN y.test.\n@ 5 IN SOA a b 1 2 3 4 5\n'), 'y.test.');
  t.equal(detect('$ORIGIN y.test.\na A 192.0.2.1\n'), 'y.test.');
  t.equal(detect('a A 192.0.2.1\n'), undefined);
  const file = join(directory, 'db.z.test');
  writeFileSync(file, 'a A 192.0.2.1\n');
  t.equal(printName(detectOrigin({ file })!), 'z.test.');
});

const COMPILER = ['/usr/bin/named-compilezone', '/usr/sbin/named-compilezone'].find(existsSync);
const CHECKERS = [
  { program: '/usr/bin/named-checkzone', args: (file: string) => ['-i', 'none', 'example.test', file] },
  { program: '/usr/bin/kzonecheck', args: (file: string) => ['-o', 'example.test', file] },
  { program: '/usr/sbin/nsd-checkzone', args: (file: string) => ['example.test', file] },
  { program: '/usr/bin/ldns-read-zone', args: (file: string) => [file] },
];
const absent = CHECKERS.filter(({ program }) => !existsSync(program)).map(({ program }) => program);
const inCI = process.env['CI'] === 'true';

const EVERYTHING = `$TTL 1h
@ SOA ns hostmaster 1 2h 30m 2w 5m
@ NS ns
ns A 192.0.2.1
ns AAAA 2001:db8::1
@ MX 10 mail
mail A 192.0.2.2
t TXT "a \\"quoted\\" \\\\ text" "two"
\\@odd\\.name 300 A 192.0.2.3
_sip._tcp SRV 1 2 5060 mail
c CNAME t
d DNAME example.net.
@ CAA 0 issue "ca.test; policy=ev"
s SVCB 1 svc alpn=h2,h3 port=443 ipv4hint=192.0.2.1
h HTTPS 0 mail
n NAPTR 100 10 "S" "SIP+D2U" "" _sip._tcp
l LOC 52 22 23.000 N 4 53 32.000 E -2.00m 1m 10000m 10m
f SSHFP 4 2 8c5a0e1bfc7c7ff2ee6d16b2c04c1ea6f2de9a4b6bc1ff7b0a7a3a1f4a2c9d11
_443._tcp TLSA 3 1 1 0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3
sub NS ns.sub
sub DS 60485 13 2 d4b7d520e7bb5f0f67674a0cceb1e3e0614b93c4f9e99b8383f6a1e4469da50a
ns.sub A 192.0.2.4
u TYPE65280 \\# 3 abcdef
* A 192.0.2.5
e6 EUI64 01-23-45-67-89-ab-cd-ef
r RP admin.example.net. t
k URI 10 1 "https://example.net/"
hi HINFO "PC" "OS"
p PTR mail
`;

t.test('written files are read again as the same zone, and other servers accept them', async (t) => {
  const { records, issues } = read(EVERYTHING);
  t.strictSame(issues, []);
  const lines = records.map((record) => printRecord({ ...record, ttl: record.ttl! }));
  const text = `$ORIGIN ${printName(ORIGIN)}\n${lines.join('\n')}\n`;
  t.strictSame(read(text).records.map(print), records.map(print), 'parse(print(zone)) is the zone');
  const file = join(directory, 'exported');
  writeFileSync(file, text, 'latin1');
  t.test(
    'the checkers of BIND, Knot, NSD and ldns',
    { skip: absent.length > 0 && !inCI && `not installed: ${absent.join(', ')}` },
    async (t) => {
      for (const { program, args } of CHECKERS) {
        const { status, stdout, stderr } = spawnSync(program, args(file), { encoding: 'utf8' });
        t.equal(status, 0, `${program}: ${stdout}${stderr}`.slice(0, 600));
      }
    },
  );
});

t.test(
  'BIND reads the same records from the same file',
  { skip: !COMPILER && !inCI && 'named-compilezone is not installed' },
  async (t) => {
    const text = `${EVERYTHING}$GENERATE 1-9/4 g$ A 192.0.2.$\n$GENERATE 8-9 \${0,3,d}.x\${-8,2,X} MX "10 m\${1}"\n$GENERATE 10-300/29 \${0,8,n}r.\${0,7,N}.s PTR h\${0,0,n}\n$ORIGIN deep.sub2\nA 5 ( TXT ) "x;y" ; c\n  IN 5 TXT z\n`;
    const file = join(directory, 'compared');
    writeFileSync(file, text, 'latin1');
    const compiled = join(directory, 'compiled');
    execFileSync(COMPILER!, ['-i', 'none', '-k', 'ignore', '-s', 'full', '-o', compiled, 'example.test', file], {
      stdio: 'pipe',
    });
    const reading = readZone({ file: compiled }, { origin: ORIGIN });
    const theirs = [...reading.records()].flat().map(print).map(lower).sort();
    t.strictSame(reading.issues, []);
    t.strictSame(read(text).records.map(print).map(lower).sort(), theirs);
  },
);

const lower = (text: string): string => text.toLowerCase();

t.test('any owner and any strings survive writing and reading', async (t) => {
  const label = fc.uint8Array({ minLength: 1, maxLength: 10 });
  const owner = fc.array(label, { minLength: 1, maxLength: 4 }).map(nameOfLabels);
  const string = fc.uint8Array({ maxLength: 60 });
  const property = fc.property(
    owner,
    fc.array(string, { minLength: 1, maxLength: 3 }),
    fc.nat(0x7fffffff),
    (name, strings, ttl) => {
      const rdata = Uint8Array.from(strings.flatMap((text) => [text.length, ...text]));
      const { records, issues } = read(`${printRecord({ owner: name, type: 16, ttl, rdata })}\n`);
      const [record] = records;
      return (
        issues.length === 0 &&
        record?.ttl === ttl &&
        Buffer.compare(record.owner, name) === 0 &&
        Buffer.compare(record.rdata, rdata) === 0
      );
    },
  );
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500, seed: 7 }));
});

t.test('attributes of the v4 export', async (t) => {
  const none = NO_ATTRIBUTES;
  const cases: [ReturnType<typeof parseAttributes>, string][] = [
    [none, ''],
    [{ ...none, comment: 'main site' }, 'main site'],
    [
      { ...none, comment: 'main site', tags: ['env:prod'], proxied: true },
      'main site cf_tags=env:prod,cf-proxied:true',
    ],
    [{ ...none, tags: ['a:x,y', 'b:'], flattenCname: true }, 'cf_tags=a:"x,y",b:,cf-flatten-cname'],
    [{ ...none, comment: 'about cf_tags=x' }, 'about cf_tags=x cf_tags='],
  ];
  for (const [attributes, text] of cases) {
    t.equal(printAttributes(attributes), text);
    t.strictSame(parseAttributes(text), attributes);
  }
  const { records } = read('b 60 A 192.0.2.1\na 1 A 192.0.2.2\n@ 60 SOA a b 1 2 3 4 5\n');
  const list = records.map((record) => ({
    ...record,
    ttl: record.ttl!,
    attributes: { ...none, comment: record.type === 6 ? null : 'c' },
  }));
  const sections = [6, 1].map((type) => ({ type, records: list.filter((record) => record.type === type) }));
  const text = [...writeV4Export(ORIGIN, '2026-01-31 12:00:00', sections)].join('');
  t.match(text, ';; Domain:     example.test.\n;; Exported:   2026-01-31 12:00:00\n');
  t.ok(text.indexOf(';; SOA Record\n') < text.indexOf(';; A Records\n'));
  t.match(text, 'a.example.test.\t1\tIN\tA\t192.0.2.2 ; c\n');
});

t.test('a TTL above 2^31-1 counts as 0, with a warning (RFC 2181 §8)', async (t) => {
  const reading = readZone(
    { text: 'a 2147483648 A 192.0.2.1\n$TTL 4294967295\nb A 192.0.2.1\n' },
    { origin: parseName('example.test.') },
  );
  t.same(
    [...reading.records()].flat().map(({ ttl }) => ttl),
    [0, 0],
  );
  t.same(
    reading.issues.map(({ severity, line }) => [severity, line]),
    [
      ['warning', 1],
      ['warning', 2],
    ],
  );
});

t.test('bounds of files from strangers', async (t) => {
  const read = (text: string, bounds: ZoneFileBounds): { records: number; issues: readonly Issue[] } => {
    const reading = readZone({ text }, { origin: parseName('example.test.'), bounds });
    let records = 0;
    for (const batch of reading.records()) records += batch.length;
    return { records, issues: reading.issues };
  };
  const bounds = { records: 50, generated: 30 };
  t.equal(read('$GENERATE 1-30 a$ 9 A 192.0.2.$\n', bounds).records, 30);
  const two = read('$GENERATE 1-20 a$ 9 A 192.0.2.$\n$GENERATE 1-11 b$ 9 A 192.0.2.$\nc 9 A 192.0.2.1\n', bounds);
  t.equal(two.records, 21, 'a series is counted before any record of it is made');
  t.match(two.issues, [{ line: 2, message: '$GENERATE makes more than 30 records in all' }]);
  const stepped = read('$GENERATE 1-90/3 a$ 9 A 192.0.2.$\n', bounds);
  t.equal(stepped.records, 30, 'steps count');
  const lines = Array.from({ length: 60 }, (_, i) => `a${i} 9 A 192.0.2.1\n`).join('');
  const many = read(lines, bounds);
  t.ok(many.records <= 51, 'the rest is not read');
  t.match(many.issues, [
    { code: 'too-many-records', message: 'more than 50 records; the rest of the file was not read' },
  ]);
  const batches = [...readZone({ text: '$GENERATE 1-5000 a$ 9 A 192.0.2.1\n' }, { origin: ROOT }).records()];
  t.ok(
    batches.every(({ length }) => length <= 1000),
    'a series comes in batches',
  );
});
