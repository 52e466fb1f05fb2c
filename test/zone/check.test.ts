/** Checks that involve several records: each finding with its severity and line, and no findings for valid zones. */
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import { readZone } from '../../src/dns/zonefile/parser.js';
import { createZoneChecker } from '../../src/zone/check.js';

const ORIGIN = parseName('example.test.');
const HEAD = '$TTL 60\n@ SOA ns h 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n';

/** `severity code line` of every finding. */
function check(text: string, selfContained = true, flattens = false): string[] {
  const reading = readZone({ text }, { origin: ORIGIN });
  const checker = createZoneChecker(ORIGIN, { selfContained, flattens });
  for (const record of [...reading.records()].flat()) checker.add(record);
  if (reading.issues.length > 0) throw new Error(`bad test zone: ${reading.issues[0]!.message}`);
  return checker.finish().map(({ severity, code, line }) => `${severity} ${code} ${line ?? '-'}`);
}

const CASES: readonly [what: string, text: string, ...findings: string[]][] = [
  ['a good zone', `${HEAD}www A 192.0.2.2\nalias CNAME www\nsub NS ns.sub\nns.sub A 192.0.2.3\n`],
  ['no SOA', '$TTL 60\n@ NS ns\nns A 192.0.2.1\n', 'error no-soa -'],
  ['nothing', '', 'error no-soa -', 'warning no-apex-ns -'],
  ['two SOAs', `${HEAD}@ SOA ns h 2 2 3 4 5\n`, 'error two-soas 5'],
  ['the same SOA twice', `${HEAD}@ SOA ns h 1 2 3 4 5\n`],
  ['an SOA below the apex', `${HEAD}a SOA ns h 1 2 3 4 5\n`, 'error soa-below-apex 5'],
  ['CNAME behind other data', `${HEAD}a A 192.0.2.2\na CNAME ns\n`, 'error cname-with-other-data 6'],
  [
    'CNAME before other data, far away',
    `${HEAD}a CNAME ns\nb A 192.0.2.2\nA TXT "x"\n`,
    'error cname-with-other-data 5',
  ],
  ['two CNAMEs', `${HEAD}a CNAME ns\na CNAME b\n`, 'error two-cnames 6'],
  ['one CNAME twice, in other case', `${HEAD}a CNAME ns\nA CNAME NS\n`, 'warning duplicate-record 6'],
  ['CNAME at the apex', `${HEAD}@ CNAME x.test.\n`, 'error cname-at-apex 5'],
  ['ALIAS at the apex', `${HEAD}@ ALIAS x.test.\n@ MX 10 ns\n`],
  ['ANAME beside other data', `${HEAD}a TXT "x"\na ANAME x.test.\n@ MX 10 a\n`],
  ['ALIAS beside an address', `${HEAD}a ALIAS x.test.\na A 192.0.2.2\n`, 'error cname-with-other-data 5'],
  ['ALIAS beside a CNAME', `${HEAD}a ALIAS x.test.\na CNAME y.test.\n`, 'error two-cnames 6'],
  ['ALIAS at a delegation', `${HEAD}a NS ns\na ALIAS x.test.\n`, 'error cname-with-other-data 6'],
  ['two DNAMEs', `${HEAD}a DNAME x.test.\na DNAME y.test.\n`, 'error two-dnames 6'],
  ['data below a DNAME', `${HEAD}a DNAME x.test.\nb.a A 192.0.2.2\n`, 'error below-dname 6'],
  ['NS beside a DNAME', `${HEAD}a DNAME x.test.\na NS x.test.\n`, 'error dname-with-ns 5'],
  ['NS at a wildcard', `${HEAD}* NS x.test.\n`, 'warning wildcard-ns 5'],
  ['NAPTR', `${HEAD}a NAPTR 1 1 u s "!a!b!i" .\n`],
  ['NAPTR with a broken expression', `${HEAD}a NAPTR 1 1 u s "!a!b" .\n`, 'error bad-data 5'],
  ['a record outside', `${HEAD}other.test. A 192.0.2.2\n`, 'warning outside-zone 5'],
  ['data below a cut', `${HEAD}sub NS x.test.\na.sub TXT "x"\nb.sub A 192.0.2.2\n`, 'warning occluded 6'],
  ['different TTLs', `${HEAD}a 60 A 192.0.2.2\na 61 A 192.0.2.3\n`, 'warning uneven-ttl 6'],
  ['a name server that is an alias', `${HEAD}@ NS b\nb CNAME ns\n`, 'warning target-is-alias 5'],
  ['a mail exchange without an address', `${HEAD}@ MX 10 missing\n`, 'warning target-without-address 5'],
  ['one that a wildcard gives an address', `${HEAD}@ MX 10 missing\n* A 192.0.2.2\n`],
  ['one below a delegation', `${HEAD}@ MX 10 m.sub\nsub NS x.test.\n`],
  ['a delegation without glue', `${HEAD}sub NS ns.sub\n`, 'warning target-without-address 5'],
  ['DS without NS', `${HEAD}a DS 1 13 2 ${'00'.repeat(32)}\n`, 'warning ds-without-ns 5'],
];

t.test('zone files', async (t) => {
  for (const [what, text, ...findings] of CASES) t.strictSame(check(text), findings, what);
});

t.test("a zone whose SOA and NS are the service's", async (t) => {
  t.strictSame(check('a 60 A 192.0.2.1\n', false), []);
  t.strictSame(check('@ 60 CNAME x.test.\n', false), [], 'an alias at the apex is flattened');
});

t.test('an export of a service that flattens', async (t) => {
  t.strictSame(check(`${HEAD}@ CNAME x.test.\na CNAME x.test.\na TXT "x"\n`, true, true), []);
  t.strictSame(check(`${HEAD}a CNAME x.test.\na AAAA ::1\n`, true, true), ['error cname-with-other-data 5']);
});

t.test('errors come first', async (t) => {
  const findings = check(`${HEAD}a 60 A 192.0.2.2\na 61 A 192.0.2.3\nb CNAME a\nb TXT "x"\n`);
  t.strictSame(findings, ['error cname-with-other-data 7', 'warning uneven-ttl 6']);
});

t.test('how many records of a set follow each other, and whether all do', async (t) => {
  const setsOf = (text: string) => {
    const checker = createZoneChecker(ORIGIN, { selfContained: true, flattens: false });
    for (const record of [...readZone({ text: HEAD + text }, { origin: ORIGIN }).records()].flat()) checker.add(record);
    return checker.sets;
  };
  const three = 'a A 192.0.2.2\nA A 192.0.2.3\na A 192.0.2.4\na TXT "x"\n';
  t.strictSame(setsOf(three), { largest: 3, isScattered: false }, 'also in another case');
  t.strictSame(setsOf(`${three}b A 192.0.2.2\n`), { largest: 3, isScattered: false });
  t.strictSame(setsOf(`${three}a A 192.0.2.5\n`), { largest: 3, isScattered: true }, 'behind another type');
  t.strictSame(setsOf(`${three}b A 192.0.2.2\na MX 1 ns\n`), { largest: 3, isScattered: true }, 'behind another owner');
  t.strictSame(setsOf('@ MX 1 ns\n'), { largest: 1, isScattered: true }, 'the apex again');
});
