/**
 * Master files (RFC 1035 §5) compared with BIND, NSD and ldns: the same records from difficult files, and files that
 * must be refused, with our full message.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { formatIssue } from '../../src/base/result.js';
import { parseName, printName } from '../../src/dns/name.js';
import { printRdata, typeMnemonic } from '../../src/dns/rr/registry.js';
import { faultOfSubstitution } from '../../src/dns/rr/substitution.js';
import { readZone } from '../../src/dns/zonefile/parser.js';
import { type Reader, ZONE_FILES } from './zone-file-table.js';

const APEX = 'example.test.';
const ORIGIN = `$ORIGIN ${APEX}\n`;
const HEAD = `${ORIGIN}$TTL 300\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.99\n`;
const REFUSED = fileURLToPath(new URL('../../../test/vectors/zones/refused.txt', import.meta.url));

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-zone-files-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, 'zone');
const compiled = join(directory, 'compiled');

/** Each prints a zone file it was given, one record after the other. */
const READERS: Readonly<Record<Reader, readonly [program: string, ...args: string[]]>> = {
  bind: ['named-compilezone', '-i', 'none', '-k', 'ignore', '-s', 'full', '-o', compiled, APEX, file],
  nsd: ['nsd-checkzone', '-p', APEX, file],
  ldns: ['ldns-read-zone', file],
};

const absent = Object.values(READERS).flatMap(([program]) =>
  spawnSync(program, [], { stdio: 'ignore' }).error === undefined ? [] : [program],
);
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

interface Reading {
  /** One record a line, sorted, each once, in small letters: NSD prints names in rdata as their owners are written. */
  readonly records: readonly string[];
  readonly issues: readonly string[];
}

function readOurs(text: Uint8Array): Reading {
  const reading = readZone({ text }, { origin: parseName(APEX) });
  const records = [...reading.records()].flat().map(({ owner, ttl, type, rdata }) => {
    return `${printName(owner)} ${ttl} ${typeMnemonic(type)} ${printRdata(type, rdata)}`.toLowerCase();
  });
  return { records: [...new Set(records)].sort(), issues: reading.issues.map(formatIssue) };
}

/** What another reader makes of the file; its complaint when it refuses. */
function readTheirs(reader: Reader): Reading {
  const [program, ...args] = READERS[reader];
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'latin1', maxBuffer: 1 << 24 });
  if (status !== 0) return { records: [], issues: [`${stdout}${stderr}`] };
  return readOurs(reader === 'bind' ? readFileSync(compiled) : Buffer.from(stdout, 'latin1'));
}

t.test('difficult files give the same records as BIND, NSD and ldns', { skip }, async (t) => {
  for (const { title, text, whole, without } of ZONE_FILES) {
    const octets = Buffer.from((whole ? ORIGIN : HEAD) + text, 'latin1');
    writeFileSync(file, octets);
    const ours = readOurs(octets);
    const unexpected = ours.issues.filter((issue) => !issue.includes('the file gives no TTL'));
    t.strictSame(unexpected, [], title);
    t.equal(ours.issues.length > 0, title.startsWith('no TTL'), title);
    for (const reader of Object.keys(READERS) as Reader[]) {
      if (without?.[reader] !== undefined) t.comment(`${title}: without ${reader}, it ${without[reader]}`);
      else t.strictSame(readTheirs(reader).records, ours.records, `${title}: ${reader}`);
    }
    t.ok(ours.records.length >= 3, title);
  }
});

/** Refused here and taken by BIND, by the beginning of our complaint. */
const BIND_TAKES: readonly (readonly [complaint: RegExp, why: string])[] = [
  [/record without an owner/, 'its file has records before the line'],
  [/makes more than 65536/, 'it has no such limit'],
  [/leads below zero/, 'it prints a negative number'],
];

interface RefusedLine {
  readonly line: string;
  readonly complaint: string;
}

function refusedLines(): RefusedLine[] {
  return readFileSync(REFUSED, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const at = line.lastIndexOf(' => ');
      return { line: line.slice(0, at), complaint: line.slice(at + 4) };
    });
}

t.test('lines that must be refused, and their messages', async (t) => {
  const lines = refusedLines();
  t.ok(lines.length > 100);
  for (const { line, complaint } of lines) {
    const reading = readZone({ text: Buffer.from(`${line}\n`, 'latin1') }, { origin: parseName(APEX) });
    const records = [...reading.records()].flat();
    t.equal(records.length, 0, `nothing is taken from: ${line}`);
    t.strictSame(reading.issues.map(formatIssue), [`zone:${complaint.replace(/^(\d+:\d+): /, '$1: error: ')}`], line);
  }
});

t.test('BIND also refuses those lines, with a few exceptions', { skip }, async (t) => {
  for (const { line, complaint } of refusedLines()) {
    writeFileSync(file, Buffer.from(`${HEAD}${line}\n`, 'latin1'));
    const taken = readTheirs('bind').issues.length === 0;
    const exception = BIND_TAKES.find(([pattern]) => pattern.test(complaint));
    t.equal(taken, exception !== undefined, `${line}: ${exception?.[1] ?? complaint}`);
  }
});

const EXPRESSIONS =
  `!a!b! !a!b!i !a!b!ii /a/b/ !^.*$!sip:x@example.test! !^(.*)$!\\1! !a)!b! !a{,2}!b! !a{x}!b! !a!! !()!b!
  !^\\+49!b! !a|b!c! !((a)|b)+!\\2! ![]a]!b! ![^]a-]!b! ![[:alpha:]_]!b! !a{2}!b! !a{1,255}!b! !a{2,}!b! !a$b!c! !a\\!b!c!
  !a!\\!! !a!b\\!c! !a !a! !a!b !a!b!x !a!b!c! 1a1b1 iaibi !!b! !^*!b! !*a!b! !(a!b! ![a!b! !a{2,1}!b! !a{1,256}!b! !a||b!c!
  !|a!b! !a|!b! !a+*!b! !(*a)!b! !{1}!b! !a|*b!c! ![[:foo:]]!c! ![b-a]!c! !a$*!b! !(a)!\\2! !a!\\1! !(a)!\\0! !a!b\\! !(a)!\\9!`
    .trim()
    .split(/\s+/);

t.test('NAPTR expressions are refused where BIND refuses them (RFC 3402 §3.2)', { skip }, async (t) => {
  const seen = { valid: 0, broken: 0 };
  for (const expression of EXPRESSIONS) {
    const fault = faultOfSubstitution(Buffer.from(expression, 'latin1'));
    const text = `"${expression.replaceAll('\\', '\\\\')}"`;
    writeFileSync(file, Buffer.from(`${HEAD}a NAPTR 1 1 u E2U+sip ${text} .\n`, 'latin1'));
    t.equal(fault === undefined, readTheirs('bind').issues.length === 0, `${expression}: ${fault}`);
    seen[fault === undefined ? 'valid' : 'broken']++;
  }
  t.ok(seen.valid > 20 && seen.broken > 20, JSON.stringify(seen));
});
