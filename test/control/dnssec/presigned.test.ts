/** Zones that BIND and ldns have signed: served as they came, or signed here with their keys, and never something between. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { readKeyDirectory } from '../../../src/cli/dnssec/key-files.js';
import { deleteDnssec, editDnssec, getDnssec, listKeys } from '../../../src/control/dnssec/delegation.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { exportKeys } from '../../../src/control/dnssec/key-files.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import type { SignatureTreatment } from '../../../src/control/imports/signatures.js';
import { type ImportResult, importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, editRecord, listRecords } from '../../../src/control/records/records.js';
import { editDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { deleteZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { parseName, printName } from '../../../src/dns/name.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import { readZone } from '../../../src/dns/zonefile/parser.js';
import { readSignature } from '../../../src/dnssec/signature.js';
import { lastChange } from '../../../src/store/log/changes.js';
import { findZone, findZoneByName } from '../../../src/store/zones/zones.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import type { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const PROGRAMS = ['ldns-signzone', 'ldns-keygen', 'dnssec-signzone', 'dnssec-keygen'].map((name) => `/usr/bin/${name}`);
const missing = PROGRAMS.filter((program) => !existsSync(program));
const skip = missing.length === 0 || process.env['CI'] === 'true' ? false : `not installed: ${missing.join(', ')}`;

/** Every kind of owner: wildcard, empty non-terminal, delegations with DS, without and with glue, redirection, mixed case. */
const RECORDS = `@ 300 IN SOA Ns.Example.TEST. h 7 7200 3600 1209600 60
@ 300 IN NS ns
ns 300 IN A 192.0.2.53
www 300 IN A 192.0.2.1
www 300 IN A 192.0.2.2
www 600 IN AAAA 2001:db8::1
Mixed.Case 300 IN MX 10 WWW
*.wild 300 IN TXT "any"
a.b.c 300 IN A 192.0.2.3
secure 300 IN NS ns.secure
secure 300 IN DS 12345 13 2 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a
ns.secure 300 IN A 192.0.2.4
plain 300 IN NS ns.else.test.
plain2 300 IN NS ns.else.test.
alias 300 IN DNAME else.test.
short 1 IN A 192.0.2.9
`;

const WAYS: Readonly<Record<string, (files: Files) => string>> = {
  'BIND, NSEC': (files) => signByBind(files, []),
  'ldns, NSEC3 with salt, iterations and opt-out': (files) => signByLdns(files, ['-n', '-p', '-t', '3', '-s', 'beef']),
};

interface Files {
  readonly directory: string;
  readonly apex: string;
}

function openFiles(t: Test, apex: string): Files {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-presigned-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, 'zone'), RECORDS);
  return { directory, apex };
}

function run(directory: string, program: string, ...args: string[]): string {
  return execFileSync(`/usr/bin/${program}`, args, {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Returns the text of the signed zone, with absolute names. */
function signByBind({ directory, apex }: Files, options: readonly string[]): string {
  const made = [['-f', 'KSK'], []].map((flags) =>
    run(directory, 'dnssec-keygen', '-a', 'ECDSAP256SHA256', ...flags, apex).trim(),
  );
  const keys = made.map((key) => `$INCLUDE ${key}.key\n`).join('');
  writeFileSync(join(directory, 'keyed'), `${RECORDS}${keys}`);
  run(directory, 'dnssec-signzone', '-O', 'full', '-o', apex, ...options, '-f', 'signed', 'keyed');
  return readFileSync(join(directory, 'signed'), 'latin1');
}

function signByLdns({ directory, apex }: Files, options: readonly string[]): string {
  const keys = [['-k'], []].map((flags) => run(directory, 'ldns-keygen', '-a', 'ED25519', ...flags, apex).trim());
  writeFileSync(join(directory, 'named'), `$ORIGIN ${apex}.\n${RECORDS}`);
  run(directory, 'ldns-signzone', ...options, '-f', 'signed', 'named', ...keys);
  return readFileSync(join(directory, 'signed'), 'latin1');
}

/** Lines that compare: owner in lower case, type, TTL, octets. Signatures of what is not the zone's own are left out. */
function linesOf(
  records: Iterable<{ owner: Uint8Array; type: number; ttl?: number | undefined; rdata: Uint8Array }>,
): string[] {
  const lines = [...records].map(({ owner, type, ttl, rdata }) => {
    const data = type === Type.rrsig ? rdata : typeByCode(type).canonical(rdata);
    return `${printName(owner).toLowerCase()} ${type} ${ttl} ${toHex(data)}`;
  });
  return [...new Set(lines)].sort();
}

function fileLines(text: string, apex: string): string[] {
  return linesOf([...readZone({ text }, { origin: parseName(`${apex}.`) }).records()].flat());
}

interface Started {
  readonly ctx: Context;
  readonly clock: TestClock;
}

async function start(t: Test): Promise<Started> {
  const { ctx, clock } = await startControl(t);
  clock.advance(Date.now() - clock.nowMs());
  return { ctx: { ...ctx, zoneKeys: await testZoneKeys(ctx.store, ctx.random) }, clock };
}

function take(
  ctx: Context,
  apex: string,
  text: string,
  signatures: SignatureTreatment,
  replace = false,
): Promise<ImportResult> {
  return importZone(ctx, { source: { text }, origin: apex, signatures, replace });
}

function seqOf({ store }: Context, apex: string): number {
  return findZoneByName(store, apex)!.seq;
}

for (const [way, sign] of Object.entries(WAYS)) {
  t.test(`signed by ${way}: every record is served as it came, and nothing changes it`, { skip }, async (t) => {
    const apex = 'example.test';
    const text = sign(openFiles(t, apex));
    const { ctx, clock } = await start(t);
    t.match(await take(ctx, apex, text, { kind: 'refuse' }), { imported: false, issues: [{ code: 'signed-zone' }] });
    const result = await take(ctx, apex, text, { kind: 'presigned' });
    t.match(result, { imported: true, serial: 7 });
    t.same(
      result.issues.filter(({ severity }) => severity === 'error'),
      [],
    );
    const id = result.zoneId!;
    const world = { ctx, zoneId: id, seq: seqOf(ctx, apex), apex };
    t.same(linesOf(servedRecords(world)), fileLines(text, apex));
    t.match(await getDnssec(ctx, id), { presigned: true, status: 'pending', key: undefined, multiSigner: false });
    t.same(
      (await listKeys(ctx, id)).keys.map(({ state }) => state),
      ['external', 'external'],
    );

    const change = lastChange(ctx.store);
    const fixed = { key: 'dnssec.presignedFixed', status: 400, message: /--replace --presigned/ };
    await t.rejects(createRecord(ctx, id, { type: 'A', name: 'new', content: '192.0.2.1' }), fixed);
    await t.rejects(editDnsSettings(ctx, id, { soa: { refresh: 7000 } }), fixed);
    const { items } = await listRecords(ctx, id, { perPage: 100 });
    const www = items.find(({ type, name }) => type === 'AAAA' && name === `www.${apex}`)!;
    await t.rejects(editRecord(ctx, id, www.id, { ttl: 900 }), fixed);
    await editRecord(ctx, id, www.id, { comment: 'resolvers do not see this' });
    const keys = { key: 'dnssec.presignedKeys', message: /--replace --keys/ };
    await t.rejects(editDnssec(ctx, id, { status: 'disabled' }), keys);
    await t.rejects(editDnssec(ctx, id, { dnssec_presigned: false }), keys);
    await t.rejects(editDnssec(ctx, id, { dnssec_use_nsec3: true }), keys);
    await t.rejects(deleteDnssec(ctx, id), keys);
    await t.rejects(startRollover(ctx, id, { role: 'zsk' }), keys);
    await t.rejects(exportKeys(ctx, id), keys);
    await editDnssec(ctx, id, { status: 'active', dnssec_presigned: true });
    clock.advance(15 * 86_400_000);
    const job = {
      store: ctx.store,
      clock,
      log: ctx.log,
      attempt: 0,
      signal: new AbortController().signal,
      requireLease: () => {},
    };
    t.same(await signingJob(ctx).handler(job, id), { done: true }, 'nothing is made anew');
    t.equal(lastChange(ctx.store), change);
    t.equal(findZone(ctx.store, world.seq)!.serial, 7);
    t.same(linesOf(servedRecords(world)), fileLines(text, apex));
    await deleteZone(ctx, id);
  });
}

t.test(
  'a presigned zone is replaced by a newer copy, signed here with its keys, or served without signatures',
  { skip },
  async (t) => {
    const { ctx } = await start(t);
    const apex = 'moves.test';
    const files = openFiles(t, apex);
    const text = signByBind(files, []);
    const { zoneId: id } = await take(ctx, apex, text, { kind: 'presigned' });
    const world = { ctx, zoneId: id!, seq: seqOf(ctx, apex), apex };
    const hashed = signAgain(files, ['-3', 'cafe', '-H', '0']);
    t.match(await take(ctx, apex, hashed, { kind: 'presigned' }, true), { imported: true, serial: 8 });
    t.same(linesOf(servedRecords(world)), fileLines(hashed, apex));

    const plain = `$ORIGIN ${apex}.\n${RECORDS}`;
    await t.rejects(take(ctx, apex, plain, { kind: 'refuse' }, true), {
      key: 'zones.importUnsigned',
      message: /--keys/,
    });
    const offered = readKeyDirectory(files.directory);
    t.equal(offered.length, 2);
    const other = offered.map((one) => ({ ...one, apex: parseName('other.test.') }));
    t.match(await take(ctx, apex, text, { kind: 'sign', keys: other }, true), {
      imported: false,
      issues: [{ code: 'no-keys' }],
    });
    t.same(linesOf(servedRecords(world)), fileLines(hashed, apex), 'nothing is half done');

    t.match(await take(ctx, apex, text, { kind: 'sign', keys: offered }, true), { imported: true });
    const tags = new Set(
      servedRecords(world)
        .filter(({ type }) => type === Type.rrsig)
        .map(({ rdata }) => readSignature(rdata).keyTag),
    );
    t.equal(tags.size, 2);
    requireVerified(world, 'signed here');
    t.match(await getDnssec(ctx, id!), { presigned: false, key: { tag: Number } });
    await createRecord(ctx, id!, { type: 'A', name: 'new', content: '192.0.2.1' });
    requireVerified(world, 'changed here');
    await t.rejects(take(ctx, apex, text, { kind: 'presigned' }, true), {
      key: 'dnssec.signedHere',
      message: /keys that would be lost/,
    });
    await deleteZone(ctx, id!);

    const again = await take(ctx, apex, text, { kind: 'presigned' });
    const stripped = await take(ctx, apex, text, { kind: 'strip' }, true);
    t.match(stripped, { imported: true, zoneId: again.zoneId });
    t.ok(stripped.issues.some(({ code }) => code === 'signed-zone'));
    const left = servedRecords({ ctx, seq: seqOf(ctx, apex) });
    t.notOk(left.some(({ type }) => type === Type.rrsig || type === Type.dnskey || type === Type.nsec));
    await createRecord(ctx, again.zoneId!, { type: 'A', name: 'new', content: '192.0.2.1' });
  },
);

/** The same keys, a later serial. */
function signAgain({ directory, apex }: Files, options: readonly string[]): string {
  const keyed = readFileSync(join(directory, 'keyed'), 'latin1').replace(' 7 7200', ' 8 7200');
  writeFileSync(join(directory, 'keyed'), keyed);
  run(directory, 'dnssec-signzone', '-O', 'full', '-o', apex, ...options, '-f', 'signed', 'keyed');
  return readFileSync(join(directory, 'signed'), 'latin1');
}

t.test('a large zone is signed here with its keys before anyone sees it', { skip }, async (t) => {
  const { ctx } = await start(t);
  const apex = 'large.test';
  const files = openFiles(t, apex);
  const names = Array.from({ length: 600 }, (_, i) => `h${i} 300 IN A 192.0.2.1\n`).join('');
  signByBind(files, []);
  const plain = `$ORIGIN ${apex}.\n${RECORDS}${names}`;
  const { zoneId } = await take(ctx, apex, plain, { kind: 'sign', keys: readKeyDirectory(files.directory) });
  const { signatures } = requireVerified({ ctx, seq: seqOf(ctx, apex), apex }, 'imported');
  t.ok(signatures > 1200);
  t.match(await getDnssec(ctx, zoneId!), { status: 'pending', presigned: false });
});

t.test('what would not validate is not taken, and says where', { skip }, async (t) => {
  const { ctx, clock } = await start(t);
  const apex = 'broken.test';
  const text = signByBind(openFiles(t, apex), []);
  const refused = async (changed: string, code: string): Promise<void> => {
    t.match(await take(ctx, apex, changed, { kind: 'presigned' }), { imported: false });
    const { issues } = await take(ctx, apex, changed, { kind: 'presigned' });
    t.ok(
      issues.some((issue) => issue.severity === 'error' && issue.code === code),
      `${code}: ${issues.map((i) => i.code)}`,
    );
  };
  await refused(text.replace('192.0.2.9', '192.0.2.10'), 'wrong-signature');
  await refused(text.replace(/^.*\sNSEC\s.*$/m, ''), 'no-denial');
  await refused(`$ORIGIN ${apex}.\n${RECORDS}`, 'not-signed');
  clock.advance(60 * 86_400_000);
  await refused(text, 'expired');
  t.equal(findZoneByName(ctx.store, apex), undefined);
});

t.test('keys of a directory', { skip }, (t) => {
  const files = openFiles(t, 'keys.test');
  t.throws(() => readKeyDirectory(files.directory), { message: /has no private keys/ });
  t.throws(() => readKeyDirectory(join(files.directory, 'gone')), { message: /cannot be read/ });
  signByLdns(files, []);
  t.equal(readKeyDirectory(files.directory).length, 2);
  for (const name of readdirSync(files.directory)) if (name.endsWith('.key')) rmSync(join(files.directory, name));
  t.throws(() => readKeyDirectory(files.directory), { message: /\.key cannot be read/ });
  t.end();
});
