/**
 * Import and export of zone files: what an import keeps, refuses and leaves unchanged; round trips; a process killed in
 * the middle.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import type { AppError } from '../../../src/base/errors.js';
import { parseIP } from '../../../src/base/ip.js';
import { readImportOnThread } from '../../../src/control/imports/pipe.js';
import { type ImportBatch, type ImportEnd, type ImportOrder, readImport } from '../../../src/control/imports/reader.js';
import { importRecords } from '../../../src/control/imports/records.js';
import { type ImportInput, type ImportProgress, importZone } from '../../../src/control/imports/zone.js';
import { type Context, DEFAULT_LIMITS } from '../../../src/control/kernel/context.js';
import { unusedRecordsJobs } from '../../../src/control/kernel/unused-records.js';
import { exportZone } from '../../../src/control/records/export.js';
import type { RecordItem } from '../../../src/control/records/item.js';
import {
  applyBatch,
  createRecord,
  deleteRecord,
  editRecord,
  listRecords,
  replaceRecord,
} from '../../../src/control/records/records.js';
import { createZone, deleteZone, editZone, findZoneByName, getZone } from '../../../src/control/zones/zones.js';
import { ownerKeyOf, parseName } from '../../../src/dns/name.js';
import type { JobOutcome } from '../../../src/jobs/kind.js';
import { servedAtOwner } from '../../../src/serving/owner.js';
import { servingZone } from '../../../src/serving/zone.js';
import { openStore } from '../../../src/store/driver.js';
import { changesAfter, lastChange } from '../../../src/store/log/changes.js';
import { recordsOfZone } from '../../../src/store/records/records.js';
import { zonesOfName } from '../../../src/store/zones/zones.js';
import { latestEvents } from '../../support/rows.js';
import { openOneCopy } from '../../support/two-copies.js';
import { refusal, startControl, startZone } from '../fixture.js';

const CHECKZONE = '/usr/bin/named-checkzone';
const HEAD = `$ORIGIN example.com.
$TTL 1h
@ 7200 IN SOA Ns1 Host.Master 4000000000 7200 900 1209600 300
@ IN NS ns1
  IN NS ns.other.test.
`;
const FILE = `${HEAD}ns1 A 192.0.2.53
WWW 300 A 192.0.2.1
www A 192.0.2.2
www 300 A 192.0.2.1
*.wild TXT "a" "b;c" ; the note cf_tags=env:prod,team:"a b"
mail 0 MX 10 mail
mail A 192.0.2.3 ; cf_tags=cf-proxied:true
mail AAAA fe80::1
odd\\.name A 192.0.2.4
sub NS ns.sub
ns.sub A 192.0.2.5
old.example.net. A 192.0.2.6
type TYPE65280 \\# 2 abcd
`;

function printItem({ name, type, ttl, content, priority }: RecordItem): string {
  return `${name} ${ttl} ${type} ${priority ?? ''}${content}`;
}

async function recordsOf(ctx: Context, zoneId: string): Promise<string[]> {
  const { items } = await listRecords(ctx, zoneId, { perPage: 50_000 });
  return items.map(printItem).sort();
}

const importText = (ctx: Context, text: string, more: Partial<ImportInput> = {}) =>
  importZone(ctx, { source: { text }, ...more });

t.test('a new zone', async (t) => {
  const { ctx } = await startControl(t);
  const progress: ImportProgress[] = [];
  const result = await importText(ctx, FILE, { onProgress: (step) => progress.push(step) });
  t.match(result, { imported: true, name: 'example.com', serial: 4000000000, records: 13, duplicates: 1 });
  t.ok(progress.at(-1)!.records >= 16);
  t.equal(progress.at(-1)!.octets, Buffer.byteLength(FILE));
  t.same(
    result.issues.filter(({ severity }) => severity === 'error'),
    [],
  );
  t.ok(result.issues.some(({ code }) => code === 'uneven-ttl'));
  t.ok(result.issues.some(({ code, line }) => code === 'outside-zone' && line === 17));
  const zone = await getZone(ctx, result.zoneId!);
  t.match(zone, {
    nameServerMode: 'records',
    recordCount: 13,
    status: 'active',
    soa: {
      mname: 'Ns1.example.com',
      rname: 'Host.Master.example.com',
      serial: 4000000000,
      refresh: 7200,
      retry: 900,
      expire: 1209600,
      minimum: 300,
      ttl: 7200,
    },
  });
  t.same(await recordsOf(ctx, zone.id), [
    '*.wild.example.com 3600 TXT "a" "b;c"',
    'example.com 3600 NS ns.other.test',
    'example.com 3600 NS ns1.example.com',
    'mail.example.com 0 MX 10mail.example.com',
    'mail.example.com 1 A 192.0.2.3',
    'mail.example.com 3600 AAAA fe80::1',
    'ns.sub.example.com 3600 A 192.0.2.5',
    'ns1.example.com 3600 A 192.0.2.53',
    'odd\\.name.example.com 3600 A 192.0.2.4',
    'sub.example.com 3600 NS ns.sub.example.com',
    'type.example.com 3600 TYPE65280 \\# 2 abcd',
    'www.example.com 300 A 192.0.2.1',
    'www.example.com 300 A 192.0.2.2',
  ]);
  const { items } = await listRecords(ctx, zone.id, { types: ['TXT'] });
  t.match(items[0], { comment: 'the note', tags: ['env:prod', 'team:a b'] });
  t.match((await listRecords(ctx, zone.id, { proxied: true })).items, [{ name: 'mail.example.com', type: 'A' }]);
  t.match(changesAfter(ctx.store, 0, 9), [{ kind: 'zone-added', serial_to: 4000000000 }]);
  t.match(latestEvents(ctx.store, 1), [{ kind: 'zone.import' }]);
});

t.test('the service provides SOA and NS', async (t) => {
  const { ctx, clock } = await startControl(t);
  const made = await importText(ctx, FILE, { automaticSoa: true, proxied: true });
  t.match(made, { imported: true, records: 11, serial: Math.floor(clock.nowMs() / 1000) });
  t.match(await getZone(ctx, made.zoneId!), {
    nameServerMode: 'service',
    soa: { mname: 'ns1.dns.test', refresh: 10000 },
  });
  const { items } = await listRecords(ctx, made.zoneId!, { proxied: true });
  t.ok(items.length >= 5);
  t.ok(
    items.every(({ ttl, type }) => ttl === 1 && type === 'A'),
    'not the link-local AAAA',
  );
  t.match(await importText(ctx, FILE, { automaticSoa: true, replace: true }), { serial: made.serial! + 1 });
  const foreign = { automaticSoa: true, replace: true, origin: 'foreign.example' };
  const none = await importText(ctx, FILE, foreign);
  t.match(none, { imported: false }, 'the file of another zone replaces nothing with nothing');
  t.equal(none.issues[0]?.message, 'nothing in the file is in foreign.example.');
  const bare = await importText(ctx, 'www A 192.0.2.1\n', { origin: 'Bare.Example.', automaticSoa: true });
  t.match(bare, { imported: true, name: 'bare.example', records: 1 });
  t.match(await recordsOf(ctx, bare.zoneId!), ['www.bare.example 1 A 192.0.2.1'], 'no TTL anywhere is automatic');
});

t.test('refusals change nothing', async (t) => {
  const { ctx } = await startControl(t);
  const made = await importText(ctx, FILE);
  const before = await recordsOf(ctx, made.zoneId!);
  const last = lastChange(ctx.store);
  t.match(await refusal(importText(ctx, FILE)), { status: 400, code: 1061, message: /already exists/ });
  const bad: [string, string, RegExp][] = [
    ['a syntax error', `${HEAD}a A 192.0.2.300\nb A x\n`, /192\.0\.2\.300|address/i],
    ['CNAME beside data', `${HEAD}a CNAME b\na A 192.0.2.1\n`, /CNAME/],
    ['no SOA', 'example.com. 60 NS ns.other.test.\n', /SOA/],
    ['two SOAs', `${HEAD}@ SOA a b 1 2 3 4 5\n`, /SOA/],
    [
      'an RRset that fits no message',
      HEAD + Array.from({ length: 4100 }, (_, i) => `big A 10.0.${i >> 8}.${i & 255}\n`).join(''),
      /big\.example\.com/,
    ],
    ['$INCLUDE in a text', `${HEAD}$INCLUDE other.zone\n`, /INCLUDE/],
  ];
  for (const [title, text, message] of bad) {
    const result = await importText(ctx, text, { replace: true, origin: 'example.com' });
    t.match(result, { imported: false, records: 0, issues: [{ severity: 'error', message }] }, title);
  }
  t.equal(
    (await importText(ctx, `${HEAD}a A x\nb A y\n`, { replace: true })).issues.length >= 2,
    true,
    'all errors at once',
  );
  t.match(await importText(ctx, 'www A 192.0.2.1\n'), { imported: false, issues: [{ code: 'no-origin' }] });
  t.match(await importText(ctx, FILE, { origin: 'a..b' }), { imported: false, issues: [{ code: 'bad-origin' }] });
  t.same(await recordsOf(ctx, made.zoneId!), before);
  t.equal(lastChange(ctx.store), last);
  await t.rejects(importZone(ctx, { source: { file: '/nonexistent/file.zone' }, origin: 'x.example' }), {
    name: 'UserError',
  });
  t.equal(zonesOfName(ctx.store, 'x.example').length, 0);
});

t.test('replacing', async (t) => {
  const { ctx } = await startControl(t);
  const made = await importText(ctx, FILE);
  await editZone(ctx, made.zoneId!, { paused: true });
  const last = lastChange(ctx.store);
  const file = `${HEAD.replace('4000000000', '4000000007')}new 60 A 192.0.2.9\n`;
  t.match(await importText(ctx, file, { replace: true }), {
    imported: true,
    zoneId: made.zoneId,
    serial: 4000000007,
    records: 3,
  });
  t.match(await getZone(ctx, made.zoneId!), { paused: true, recordCount: 3 }, 'what the file does not say stays');
  t.match(changesAfter(ctx.store, last, 9), [{ kind: 'zone-replaced', serial_to: 4000000007 }]);
  const again = await importText(ctx, file, { replace: true });
  t.ok(again.issues.some(({ code }) => code === 'stale-serial'));
});

t.test('files and $INCLUDE', async (t) => {
  const { ctx } = await startControl(t);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-import-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'hosts.inc'), 'www A 192.0.2.1\nbad line here\n');
  const file = join(directory, 'example.com.zone');
  writeFileSync(file, `${HEAD}$INCLUDE hosts.inc\n`);
  const result = await importZone(ctx, { source: { file } });
  t.match(result.issues[0], { file: /hosts\.inc$/, line: 2, severity: 'error' });
  writeFileSync(join(directory, 'hosts.inc'), 'www A 192.0.2.1\n');
  t.match(await importZone(ctx, { source: { file } }), { imported: true, records: 3 });
});

t.test('an export has the addresses that are served for name servers inside the zone', async (t) => {
  const { ctx } = await startControl(t, {
    nameServers: ['ns1.inside.example', 'ns2.inside.example', 'ns3.else.test'],
    nameServerAddresses: [parseIP('198.51.100.7')!, parseIP('2001:db8::7')!],
  });
  const { id } = await createZone(ctx, { name: 'inside.example' });
  await createRecord(ctx, id, { type: 'A', name: 'ns2', content: '192.0.2.2' });
  let text = '';
  for await (const piece of exportZone(ctx, id, 'bind')) text += piece;
  t.match(text, /\nns1\.inside\.example\.\t\d+\tIN\tA\t198\.51\.100\.7\n/);
  t.match(text, /\nns1\.inside\.example\.\t\d+\tIN\tAAAA\t2001:db8::7\n/);
  t.notMatch(text, /ns2\S*\t\d+\tIN\tA\t198/, 'an address that is stored replaces it');
  t.notMatch(text, /ns3\S*\t\d+\tIN\tA/, 'nor what is outside the zone');
  if (existsSync(CHECKZONE)) {
    const directory = t.testdir({ zone: text });
    const checked = spawnSync(CHECKZONE, ['-i', 'local', 'inside.example', join(directory, 'zone')]);
    t.equal(checked.status, 0, `${checked.stdout}`);
  } else t.equal(process.env['CI'] === 'true', false, `not installed: ${CHECKZONE}`);
});

t.test('round trips', async (t) => {
  const { ctx } = await startControl(t);
  const collect = async (zoneId: string, format: 'bind' | 'json' = 'bind'): Promise<string> => {
    let text = '';
    for await (const piece of exportZone(ctx, zoneId, format)) text += piece;
    return text;
  };
  const made = await importText(ctx, FILE);
  const text = await collect(made.zoneId!);
  t.match(text, /^;;\n;; Domain: {5}example\.com\.\n/);
  t.match(
    text,
    /\n;; SOA Record\nexample\.com\.\t7200\tIN\tSOA\tNs1\.example\.com\. Host\.Master\.example\.com\. 4000000000 /,
  );
  t.match(text, /\tTXT\t"a" "b;c" ; the note cf_tags=env:prod,team:"a b"\n/);
  t.match(text, /mail\.example\.com\.\t1\tIN\tA\t192\.0\.2\.3 ; cf_tags=cf-proxied:true\n/);
  const before = await recordsOf(ctx, made.zoneId!);
  const zone = await getZone(ctx, made.zoneId!);
  t.match(await importText(ctx, text, { replace: true }), { imported: true, records: 13, duplicates: 0 });
  t.same(await recordsOf(ctx, made.zoneId!), before);
  t.same((await getZone(ctx, made.zoneId!)).soa, zone.soa);
  t.equal(await collect(made.zoneId!), text);

  const own = await createZone(ctx, { name: 'own.example' });
  await createRecord(ctx, own.id, { type: 'CNAME', name: 'c', content: 'x.test', settings: { flatten_cname: true } });
  await createRecord(ctx, own.id, { type: 'TXT', name: 't', content: 'ü "quoted" \\', comment: 'says cf_tags=x' });
  const exported = await collect(own.id);
  t.match(exported, /\nown\.example\.\t86400\tIN\tNS\tns1\.dns\.test\.\n/);
  t.match(exported, /CNAME\tx\.test\. ; cf_tags=cf-proxied:false,cf-flatten-cname\n/);
  const wanted = (await recordsOf(ctx, own.id)).filter((line) => !line.includes('TXT'));
  await importText(ctx, exported, { replace: true, automaticSoa: true });
  t.same(
    (await recordsOf(ctx, own.id)).filter((line) => !line.includes('TXT')),
    wanted,
  );
  t.match((await listRecords(ctx, own.id, { types: ['TXT'] })).items, [{ comment: 'says cf_tags=x' }]);
  t.match((await listRecords(ctx, own.id, { types: ['CNAME'] })).items, [{ settings: { flatten_cname: true } }]);

  // A CNAME at the apex is flattened, so the export of a zone with a SOA of its own has it beside other records.
  await createRecord(ctx, made.zoneId!, { type: 'CNAME', name: '@', content: 'x.test' });
  const flattened = await collect(made.zoneId!);
  t.match(await importText(ctx, flattened, { replace: true }), { imported: true, records: 14 });
  t.equal(await collect(made.zoneId!), flattened);
  await deleteRecord(ctx, made.zoneId!, (await listRecords(ctx, made.zoneId!, { types: ['CNAME'] })).items[0]!.id);

  const json = JSON.parse(await collect(made.zoneId!, 'json'));
  t.match(json, { zone: { name: 'example.com' }, settings: { soa: { refresh: 7200 } }, records: { length: 13 } });
  await t.rejects(collect('0'.repeat(32)), { code: 1001 });

  const pieces = exportZone(ctx, made.zoneId!, 'json');
  await pieces.next();
  await createRecord(ctx, made.zoneId!, { type: 'A', name: 'late', content: '192.0.2.77' });
  let rest = '';
  for await (const piece of pieces) rest += piece;
  t.notMatch(rest, /late/, 'an export shows one moment');
});

t.test('records into a zone', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  const text = `$TTL 600
@ SOA a b 1 2 3 4 5
@ NS ns.other.test.
a A 192.0.2.1
a A 192.0.2.2 ; a note
b 1 CNAME x.test. ; cf_tags=cf-proxied:true,env:x
c.example.com. TXT "x"
`;
  const last = lastChange(ctx.store);
  t.same(await importRecords(ctx, zoneId, text, {}), {
    added: 3,
    parsed: 6,
    leftOut: [
      { line: 2, code: 1004, reason: 'example.com. SOA: the service makes it' },
      { line: 3, code: 1004, reason: 'example.com. NS: the service makes it' },
      { line: 4, code: 81058, reason: 'a.example.com. A: an identical record already exists' },
    ],
  });
  t.equal(lastChange(ctx.store), last + 1);
  t.equal((await getZone(ctx, zoneId)).recordCount, 4);
  t.match((await listRecords(ctx, zoneId, { name: { exact: 'b.example.com' } })).items, [
    { proxied: true, ttl: 1, tags: ['env:x'] },
  ]);
  t.match(await importRecords(ctx, zoneId, 'p A 192.0.2.9\np TXT x\n', { proxied: true }), { added: 2 });
  t.equal((await listRecords(ctx, zoneId, { proxied: true })).totalCount, 2);

  const before = await recordsOf(ctx, zoneId);
  const refused: [string, number, number, RegExp][] = [
    ['x A 192.0.2.1\ny A nonsense\n', 1004, 2, /^Line 2: /],
    ['x A 192.0.2.1\nb A 192.0.2.1\n', 81054, 2, /^Line 2: A CNAME record with that host already exists/],
    ['x CNAME a.test.\nx CNAME b.test.\n', 81053, 2, /^Line 2: /],
    ['x.example.net. A 192.0.2.1\n', 1004, 1, /outside/],
    ['$INCLUDE /etc/passwd\n', 1004, 1, /\$INCLUDE directive not allowed/],
  ];
  for (const [bad, code, line, message] of refused) {
    const error = await refusal(importRecords(ctx, zoneId, bad, {}));
    t.match(error, { status: 400, code, message, pointer: `/file/line/${line}` }, bad);
  }
  t.same(await recordsOf(ctx, zoneId), before, 'all or nothing');
});

async function exportText(ctx: Context, zoneId: string): Promise<string> {
  let text = '';
  for await (const piece of exportZone(ctx, zoneId, 'bind')) text += piece;
  return text;
}

/** What Cloudflare's dashboard and API export: SOA names without final dots, the zone in the head, TTL 1 for automatic. */
const VENDOR_EXPORT = `;;
;; Domain:     example.com.
;; Exported:   2024-05-05 12:00:00
;;
;; This file is intended for use for informational and archival
;; purposes ONLY and MUST be edited before use on a production
;; DNS server.  In particular, you must:
;;   -- update the SOA record with the correct authoritative name server
;;
;; For further information, please consult the BIND documentation
;; located on the following website:
;;
;; http://www.isc.org/
;;
;; SOA Record
example.com	3600	IN	SOA	dana.ns.cloudflare.com dns.cloudflare.com 2046489341 10000 2400 604800 3600

;; NS Records
example.com.	86400	IN	NS	dana.ns.cloudflare.com.
example.com.	86400	IN	NS	rick.ns.cloudflare.com.

;; A Records
example.com.	1	IN	A	192.0.2.1 ; cf_tags=cf-proxied:true
direct.example.com.	1	IN	A	192.0.2.2 ; main site cf_tags=env:prod,cf-proxied:false
short.example.com.	60	IN	A	192.0.2.3

;; CNAME Records
www.example.com.	1	IN	CNAME	example.com. ; cf_tags=cf-proxied:true,cf-flatten-cname

;; MX Records
example.com.	1	IN	MX	10 mail.example.com.
`;

t.test('an export of the vendor', async (t) => {
  const { ctx } = await startControl(t);
  const kept = await importZone(ctx, { source: { text: VENDOR_EXPORT } });
  t.match(kept, { imported: true, name: 'example.com', serial: 2046489341, records: 7 });
  t.match((await getZone(ctx, kept.zoneId!)).soa, { mname: 'dana.ns.cloudflare.com', rname: 'dns.cloudflare.com' });
  t.match((await listRecords(ctx, kept.zoneId!, { name: { exact: 'direct.example.com' } })).items, [
    { ttl: 1, proxied: false, comment: 'main site', tags: ['env:prod'] },
  ]);
  const [direct] = zonesOfName(ctx.store, 'example.com');
  const stored = [...recordsOfZone(ctx.store, direct!.seq)].find(({ name }) => name === 'direct.example.com');
  t.equal(stored!.ttl, 1, 'automatic, not a second');
  const replaced = await importZone(ctx, { source: { text: VENDOR_EXPORT }, automaticSoa: true, replace: true });
  t.match(replaced, { imported: true, records: 5 });
  t.match((await getZone(ctx, kept.zoneId!)).soa, { mname: 'ns1.dns.test' });

  const { id } = await createZone(ctx, { name: 'example.net' });
  const text = VENDOR_EXPORT.replaceAll('example.com', 'example.net');
  const added = await importRecords(ctx, id, text, {});
  t.match(added, { added: 5, parsed: 8 });
  t.same(
    added.leftOut.map(({ reason }) => reason),
    [
      'example.net. SOA: the service makes it',
      'example.net. NS: the service makes it',
      'example.net. NS: the service makes it',
    ],
  );
  const below = await importRecords(ctx, id, 'sub SOA a b 1 2 3 4 5\nx A 192.0.2.1\n', {});
  t.match(below, { added: 1, leftOut: [{ line: 1, reason: /SOA belongs to the name of the zone/ }] });
});

/** As `pdnsutil list-zone` prints it. */
const POWERDNS = `$ORIGIN .
_sip._tcp.example.net	10	IN	SRV	5 0 5060 mail.example.net.
example.net	3600	IN	ALIAS	target.example.com
example.net	3600	IN	NS	ns1.example.net.
example.net	3600	IN	SOA	ns1.example.net hostmaster.example.net 7 10800 3600 604800 3600
example.net	3600	IN	TXT	"v=spf1 -all"
mail.example.net	3600	IN	A	192.0.2.9
ns1.example.net	3600	IN	A	192.0.2.1
`;

t.test('an export of PowerDNS', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId } = await importText(ctx, POWERDNS);
  t.match((await listRecords(ctx, zoneId!, { types: ['CNAME'] })).items, [
    { name: 'example.net', content: 'target.example.com', ttl: 3600, settings: { flatten_cname: true } },
  ]);
  const lua = `${POWERDNS}lua.example.net\t60\tIN\tLUA\tA "ifportup(443, {\\"192.0.2.1\\"})"\n`;
  const refused = await importText(ctx, lua, { replace: true });
  t.match(refused, { imported: false, issues: [{ line: 9, message: /LUA records.*not supported/ }] });
});

t.test('an import follows the rules for creating a record', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const before = await recordsOf(ctx, zoneId);
  const refused: [text: string, code: number][] = [
    ['a 99999999 A 192.0.2.1', 9021],
    ['a 4294967295 A 192.0.2.1', 9021],
    ['a 30 A 192.0.2.1', 9021],
    ['a MX 10 .', 9005],
    ['a A 198.51.100.250', 9003],
    ['a CNAME a', 9039],
  ];
  for (const [text, code] of refused) {
    const error = await refusal(importRecords(ctx, zoneId, `ok A 192.0.2.1\n${text}\n`, {}));
    t.match(error, { status: 400, message: /^Line 2: /, pointer: '/file/line/2' }, text);
    const [owner, ...words] = text.split(' ');
    t.ok(error.code === code || words.includes('MX'), `${text}: ${error.code}`);
    t.equal(owner, 'a');
  }
  t.same(await recordsOf(ctx, zoneId), before);
  const signature = 'RRSIG A 13 2 300 20300101000000 20200101000000 1 example.com. AAAA';
  const { added, leftOut } = await importRecords(ctx, zoneId, `a A 192.0.2.1\na ${signature}\na NSEC b A\n`, {});
  t.equal(added, 1);
  t.match(leftOut, [
    { line: 2, code: 1004, reason: 'a.example.com. RRSIG: records of this type cannot be created' },
    { line: 3, code: 1004, reason: 'a.example.com. NSEC: records of this type cannot be created' },
  ]);
});

/** Values by type; the code of the refusal, or the TTL that clients read. */
const JUDGED: readonly (readonly [type: string, content: string, ttl: number, verdict: { code: number } | number])[] = [
  ['A', '192.0.2.77', 0, 1],
  ['A', '192.0.2.77', 1, 1],
  ['A', '192.0.2.77', 60, 60],
  ['A', '192.0.2.77', 86_400, 86_400],
  ['A', '192.0.2.77', 2, { code: 9021 }],
  ['A', '192.0.2.77', 59, { code: 9021 }],
  ['A', '192.0.2.77', 86_401, { code: 9021 }],
  ['A', '192.0.2.77', 99_999_999, { code: 9021 }],
  ['A', '198.51.100.250', 300, { code: 9003 }],
  ['CNAME', 'judged.example.com.', 300, { code: 9039 }],
  ['NAPTR', '1 1 "u" "E2U+sip" "!^.*$!sip:a@example.com!" .', 300, 300],
  ['NAPTR', '1 1 "u" "E2U+sip" "!^.*$!sip:a@example.com" .', 300, { code: 1004 }],
];

t.test('one rule for POST, PUT, PATCH, batches and imports', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const name = 'judged.example.com';
  for (const [type, content, ttl, verdict] of JUDGED) {
    const input = { name, type, content, ttl };
    const line = `${name}. ${ttl} ${type} ${content}\n`;
    const old = { name, type: 'TXT', content: 'old' };
    const ways: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
      post: () => createRecord(ctx, zoneId, input),
      put: (id) => replaceRecord(ctx, zoneId, id, input),
      patch: (id) => editRecord(ctx, zoneId, id, { type, content, ttl }),
      'batch post': () => applyBatch(ctx, zoneId, { posts: [input] }),
      'batch put': (id) => applyBatch(ctx, zoneId, { puts: [{ id, ...input }] }),
      'batch patch': (id) => applyBatch(ctx, zoneId, { patches: [{ id, type, content, ttl }] }),
      import: () => importRecords(ctx, zoneId, line, {}),
    };
    for (const [way, run] of Object.entries(ways)) {
      const { id } = await createRecord(ctx, zoneId, old);
      const code = await run(id).then(
        () => undefined,
        (error: AppError) => error.code,
      );
      const { items } = await listRecords(ctx, zoneId, { name: { exact: name } });
      const made = items.find((item) => item.type === type);
      t.same(code === undefined ? made?.ttl : { code }, verdict, `${way}: ${line}`);
      await applyBatch(ctx, zoneId, { deletes: items.map((item) => ({ id: item.id })) });
    }
  }
  const { leftOut } = await importRecords(ctx, zoneId, 'a 300 A 192.0.2.1\nzero 0 A 192.0.2.1\n', {});
  t.same(leftOut, [{ line: 2, code: 1004, reason: 'zero.example.com. A: the TTL of 0 became automatic' }]);
});

t.test('imported values can be sent back unchanged', async (t) => {
  const { ctx } = await startControl(t);
  const text = `${HEAD}ns1 A 192.0.2.53
zero 0 A 192.0.2.1
long 2000000 A 192.0.2.2
second 1 A 192.0.2.3
none MX 10 .
own A 198.51.100.250
loop CNAME loop
type TYPE65280 \\# 2 abcd
txt TXT ${'"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" '.repeat(90)}
`;
  const { zoneId, imported, issues } = await importZone(ctx, { source: { text } });
  t.ok(imported, JSON.stringify(issues));
  const { items } = await listRecords(ctx, zoneId!, {});
  for (const { id, name, type, content, data, priority, ttl, proxied, comment, tags } of items) {
    const body = { name, type, content, data, priority, ttl, proxied, comment, tags };
    t.match(await replaceRecord(ctx, zoneId!, id, body), { id, content, ttl }, `${name} ${type}`);
    t.match(await replaceRecord(ctx, zoneId!, id, { ...body, comment: 'noted' }), { content, ttl, comment: 'noted' });
    t.match(await editRecord(ctx, zoneId!, id, { ...body, comment: null }), { content, ttl, comment: null });
  }
  const zero = items.find(({ name }) => name === 'zero.example.com')!;
  t.match(await refusal(editRecord(ctx, zoneId!, zero.id, { ttl: 2 })), { code: 9021 }, 'a change keeps the rules');
});

t.test('a zone whose name has the label *', async (t) => {
  const { ctx } = await startControl(t);
  const text =
    '$ORIGIN *.example.com.\n$TTL 300\n@ SOA ns h 1 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.53\n* NS ns\n';
  const { imported, issues, zoneId } = await importZone(ctx, { source: { text } });
  t.ok(imported);
  t.match(issues, [{ severity: 'warning', code: 'wildcard-ns' }]);
  t.match(await findZoneByName(ctx, '*.Example.com.'), { id: zoneId, name: '*.example.com' });
  await createRecord(ctx, zoneId!, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 300 });
  t.match(await exportText(ctx, zoneId!), /^www\.\*\.example\.com\.\t300\tIN\tA\t192\.0\.2\.1/m);
  t.match(await refusal(createZone(ctx, { name: '*.example.net' })), { code: 1002 }, 'clients cannot create one');
});

t.test('a TTL of one second is not automatic', async (t) => {
  const { ctx } = await startControl(t);
  const text = `${HEAD}ns1 A 192.0.2.53\nsecond 1 A 192.0.2.3\nuneven 1 A 192.0.2.4\nuneven A 192.0.2.5\nnever 4294967295 A 192.0.2.6\n`;
  const { zoneId, issues } = await importZone(ctx, { source: { text } });
  t.match(issues, [{ code: 'uneven-ttl' }, { severity: 'warning', code: 'excessive-ttl', line: 10 }]);
  const served = (label: string): number => {
    const [zone] = zonesOfName(ctx.store, 'example.com');
    const key = ownerKeyOf(parseName(`${label}.example.com.`), zone!.apex);
    return [...servedAtOwner(ctx.store, servingZone(ctx.store, zone!, ctx.settings), key).rrsets][0]!.ttl;
  };
  t.same([served('second'), served('uneven'), served('never')], [1, 1, 0]);
  const [second] = (await listRecords(ctx, zoneId!, { name: { exact: 'second.example.com' } })).items;
  t.equal(second!.ttl, 1, 'clients read it as it is');
  await editRecord(ctx, zoneId!, second!.id, { comment: 'noted', ttl: 1 });
  t.equal(served('second'), 1);
  const text2 = (await exportText(ctx, zoneId!)).replaceAll('example.com', 'example.net');
  t.match(text2, /^second\.example\.net\.\t1\tIN\tA\t192\.0\.2\.3 ; noted cf_tags=cf-proxied:false,exact-ttl$/m);
  await importZone(ctx, { source: { text: text2 } });
  const again = zonesOfName(ctx.store, 'example.net')[0]!;
  t.same(
    [...recordsOfZone(ctx.store, again.seq)]
      .map(({ ttl }) => ttl)
      .sort((a, b) => a - b)
      .slice(0, 4),
    [-1, -1, -1, 0],
  );
});

t.test('what is often not meant is said', async (t) => {
  const { ctx } = await startControl(t);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-notices-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const text = '$TTL 300\n@ SOA ns h 1 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.53\n';
  const file = join(directory, 'example.com.zone');
  writeFileSync(file, text);
  const guessed = await importZone(ctx, { source: { file } });
  t.match(guessed, { imported: true, name: 'example.com' });
  t.match(guessed.issues, [
    { severity: 'warning', code: 'guessed-origin', message: /named example\.com after its file/ },
  ]);
  t.same((await importZone(ctx, { source: { file }, origin: 'example.net' })).issues, []);
  const below = await importZone(ctx, { source: { text }, origin: 'sub.example.com' });
  t.match(below.issues, [{ code: 'shadows-parent', message: /takes its names out of example\.com/ }]);
  await createRecord(ctx, guessed.zoneId!, { type: 'NS', name: 'lab', content: 'ns1.dns.test' });
  t.same((await importZone(ctx, { source: { text }, origin: 'lab.example.com' })).issues, [], 'it is delegated');
});

t.test('signed zones', async (t) => {
  const { ctx } = await startControl(t);
  const signed = `${HEAD}ns1 A 192.0.2.53
@ DNSKEY 257 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==
@ NSEC ns1 NS SOA RRSIG NSEC DNSKEY
@ RRSIG SOA 13 2 3600 20300101000000 20200101000000 2371 example.com. AAAA
sub NS ns1
sub DS 2371 13 2 1F987CC6583E92DF0890718C42A2E0D8D9C1F1F1F1F1F1F1F1F1F1F1F1F1F1F1
`;
  const refused = await importZone(ctx, { source: { text: signed } });
  t.match(refused, { imported: false, issues: [{ severity: 'error', code: 'signed-zone', line: 8 }] });
  t.match(refused.issues[0]!.message, /--strip-dnssec .* DS records of its keys \(key tag 2371, algorithm 13\)/);
  const stripped = await importZone(ctx, { source: { text: signed }, signatures: { kind: 'strip' } });
  t.match(stripped, { imported: true, records: 5, issues: [{ severity: 'warning', code: 'signed-zone' }] });
  const types = (await listRecords(ctx, stripped.zoneId!, {})).items.map(({ type }) => type);
  t.same([...new Set(types)].sort(), ['A', 'DS', 'NS']);
});

/** As many as make a file large enough to be read on a thread of its own. */
const LINES = 120_000;

t.test('reading on a thread', async (t) => {
  const { directory } = await startControl(t);
  const file = join(directory, 'example.com.zone');
  const many = Array.from(
    { length: 3000 },
    (_, i) => `h${i} A 192.0.2.${i % 250}\nh${i} TXT "${'x'.repeat(i % 200)}" ; note ü ${i}\n`,
  );
  writeFileSync(file, FILE + many.join(''));
  type Reading = Generator<ImportBatch, ImportEnd> | AsyncGenerator<ImportBatch, ImportEnd>;
  const collect = async (reading: Reading): Promise<unknown> => {
    const batches: unknown[] = [];
    let step = await reading.next();
    for (; !step.done; step = await reading.next()) batches.push(step.value);
    return [batches, step.value];
  };
  const order: ImportOrder = {
    source: { file },
    apex: parseName('example.com.'),
    automaticSoa: false,
    proxied: true,
    signatures: 'refuse' as const,
    limits: DEFAULT_LIMITS,
  };
  const [here, there] = [await collect(readImport(order)), await collect(readImportOnThread(order))];
  // Cloning makes plain octets of buffers.
  t.ok(isDeepStrictEqual(structuredClone(there), structuredClone(here)), 'gives the same');
  await t.rejects(collect(readImportOnThread({ ...order, source: { file: `${file}.gone` } })), {
    name: 'UserError',
    remedy: /path/,
  });
  const reading = readImportOnThread(order);
  await reading.next();
  t.ok((await reading.return(undefined as never)).done, 'can be given up');
});

t.test('while no server is running, many rows are stored together, but not more than fit in memory', async (t) => {
  const { ctx } = await startControl(t, {}, openOneCopy);
  const long = `"${'a'.repeat(255)}" `.repeat(200);
  for (const [name, text, stored] of [
    ['short.test', '$GENERATE 1-200 h$ A 192.0.2.1\n', 0],
    ['long.test', `$GENERATE 1-200 h$ TXT ${long}\n`, 1],
  ] as const) {
    let times = 0;
    const source = { text: `${HEAD.replaceAll('example.com', name)}${text}` };
    const input = { name, source, onProgress: () => void times++ };
    t.match(await importZone({ ...ctx, isAlone: () => true }, input), { imported: true }, name);
    t.equal(times, stored, `${name}: stored ${times} times before the end`);
  }
});

t.test('a process killed in the middle of an import', async (t) => {
  const { ctx, directory } = await startControl(t, {}, openOneCopy);
  const made = await importText(ctx, FILE);
  const before = await recordsOf(ctx, made.zoneId!);
  const file = join(directory, 'large.zone');
  const lines = Array.from(
    { length: LINES },
    (_, i) => `h${(i * 7919) % LINES} A 10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}\n`,
  );
  writeFileSync(file, HEAD.replace('4000000000', '4000000001') + lines.join(''));
  const script = fileURLToPath(new URL('./import-child.js', import.meta.url));
  const child = spawn(process.execPath, [script, directory, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  const stored = await new Promise<number>((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const records = Number(text.trim().split('\n').at(-1));
      // Pages have left the cache for the log by then, and the transaction is far from its end.
      if (records >= 50_000) resolve(records);
    });
  });
  t.ok(stored < LINES);
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  t.same(await recordsOf(ctx, made.zoneId!), before, 'the zone is as it was');
  t.equal((await getZone(ctx, made.zoneId!)).soa.serial, 4000000000);
  const rowsLeft = countRows(ctx);
  t.ok(rowsLeft > before.length, 'what it had stored belongs to no zone');
  await runRemoval(ctx);
  t.equal(countRows(ctx), rowsLeft, 'an import that may be under way is left alone');
  await runRemoval({ ...ctx, clock: new LaterClock() });
  t.equal(countRows(ctx), before.length, 'and is removed later');
  t.same(await recordsOf(ctx, made.zoneId!), before);
  const reopened = openStore(directory);
  t.same(reopened.prepareTuples<[], [string]>('PRAGMA integrity_check').get(), ['ok']);
  reopened.close();
  await createRecord(ctx, made.zoneId!, { type: 'A', name: 'after', content: '192.0.2.8' });
});

/** Rows of records, with those that no zone has. */
function countRows({ store }: Context): number {
  return store.prepareTuples<[], [number]>('SELECT count(*) FROM record_rows').get()![0];
}

class LaterClock extends SystemClock {
  override nowMs(): number {
    return super.nowMs() + 11 * 60_000;
  }
}

function runRemoval({ store, clock, log }: Context): Promise<JobOutcome> {
  const { signal } = new AbortController();
  return unusedRecordsJobs.handler({ store, clock, log, attempt: 0, signal, requireLease: () => {} }, '');
}

t.test('others write while a large file is imported, and while a large zone is deleted', async (t) => {
  const clock = new SystemClock();
  const { ctx: fixture } = await startControl(t, {}, openOneCopy);
  const ctx = { ...fixture, clock };
  const other = await createZone(ctx, { name: 'other.test' });
  const lines = Array.from({ length: 6_000 }, (_, i) => `h${i} ${i % 2 ? 60 : 600} A 10.0.${i >> 8}.${i & 255}\n`);
  const text = `${HEAD + lines.join('')}uneven 60 A 192.0.2.1\nuneven 600 A 192.0.2.2\n`;
  const zones = (): string[] => zonesOfName(ctx.store, 'example.com').map(({ name }) => name);

  let writes = 0;
  const during = async <T>(work: Promise<T>, look: () => void): Promise<T> => {
    let ended = false;
    const end = (): void => {
      ended = true;
    };
    work.then(end, end);
    while (!ended) {
      await createRecord(ctx, other.id, { type: 'TXT', name: `w${writes++}`, content: 'x' });
      if (!ended) look();
    }
    return work;
  };
  const made = await during(importText(ctx, text), () => t.strictSame(zones(), []));
  t.match(made, { imported: true, records: 6_004, duplicates: 0 });
  t.ok(writes > 0, 'a write came between');
  const uneven = await listRecords(ctx, made.zoneId!, { name: { exact: 'uneven.example.com' } });
  t.strictSame(
    uneven.items.map(({ ttl }) => ttl),
    [60, 60],
  );

  // A replacement shows the old zone until the new one is whole.
  const replaced = importText(ctx, text.replaceAll('192.0.2.', '198.51.100.').replace('4000000000', '4000000001'), {
    replace: true,
  });
  const serial = async (): Promise<number> => (await getZone(ctx, made.zoneId!)).soa.serial;
  t.match(await during(replaced, () => {}), { imported: true, records: 6_004, zoneId: made.zoneId });
  t.equal(await serial(), 4000000001);
  t.ok(countRows(ctx) > 7_000, 'the rows of before are still there');
  await during(runRemoval(ctx), () => {});
  t.equal(countRows(ctx), 6_004 + writes);

  // Errors at the end of a large file leave nothing.
  const broken = await importText(ctx, `${text}broken A x\n`, { replace: true });
  t.equal(broken.imported, false);
  await runRemoval(ctx);
  t.equal(countRows(ctx), 6_004 + writes);
  const dry = await importText({ ...ctx, dryRun: true }, text, { replace: true });
  t.match(dry, { imported: true, records: 6_004 });
  await runRemoval(ctx);
  t.equal(countRows(ctx), 6_004 + writes, 'a dry run leaves nothing');
  await t.rejects(importText(ctx, text), /already/, 'refused before anything is stored');

  await deleteZone(ctx, made.zoneId!);
  t.strictSame(zones(), []);
  t.equal(ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM records').get()![0], writes);
  t.ok(countRows(ctx) > writes);
  t.equal(ctx.store.prepareTuples<[], [string]>('SELECT kind FROM jobs').get()![0], 'unused_records');
  const again = await importText(ctx, FILE);
  t.equal(again.imported, true, 'the name is free at once');
  await during(runRemoval(ctx), () => {});
  t.equal(countRows(ctx), writes + again.records);
});
