/** A zone with two signers, BIND and us, whose resolvers ask both (RFC 8901 §2.1.2). */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { deleteDnssec, editDnssec, getDnssec, listKeys } from '../../../src/control/dnssec/delegation.js';
import { signingJob } from '../../../src/control/dnssec/job.js';
import { parentJob } from '../../../src/control/dnssec/watch.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { Type } from '../../../src/dns/codes.js';
import { typeByCode } from '../../../src/dns/rr/registry.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { publishZones } from '../../support/published-zones.js';
import { missingReferences, startReferences } from '../../support/reference-servers.js';
import { requireVerified, servedRecords } from '../../support/signed-copy.js';
import type { TestClock } from '../../support/test-clock.js';
import { isUnboundMissing, startUnbound, WITHOUT_CACHE } from '../../support/unbound.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

const APEX = 'example.com';
const SIGNER = '/usr/bin/dnssec-signzone';
const missing = [
  ...missingReferences(),
  ...(isUnboundMissing() ? ['unbound'] : []),
  ...(existsSync(SIGNER) ? [] : [SIGNER]),
];
const skip = missing.length === 0 || process.env['CI'] === 'true' ? false : `not installed: ${missing.join(', ')}`;

interface Started {
  readonly ctx: Context;
  readonly clock: TestClock;
  /** Of the database. */
  readonly directory: string;
  readonly zoneId: string;
  /** Contents of the records of a type at the apex, as served. */
  readonly contents: (type: number) => string[];
  readonly verify: (when: string) => void;
}

async function start(t: Test): Promise<Started> {
  const { ctx: plain, zoneId, clock, directory } = await startZone(t);
  clock.advance(Date.now() - clock.nowMs());
  const ctx: Context = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  const world = { ctx, seq: findZoneByName(ctx.store, APEX)!.seq, apex: APEX };
  const contents = (type: number): string[] => {
    const records = servedRecords(world).filter((record) => record.type === type);
    return records.map(({ rdata }) => typeByCode(type).contentOf(rdata)).sort();
  };
  return { ctx, clock, directory, zoneId, contents, verify: (when) => void requireVerified(world, when) };
}

const FOREIGN = '256 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==';

t.test('keys of other signers: what is allowed, and where they show', async (t) => {
  const { ctx, clock, zoneId, contents, verify } = await start(t);
  const add = (content: string, name = '@') => createRecord(ctx, zoneId, { type: 'DNSKEY', name, content });
  const off = { key: 'dnssec.multiSignerOff', message: /has one signer/ };
  const early = await add(FOREIGN);
  t.same(contents(Type.dnskey), [FOREIGN], 'nothing depends on it in a zone that is not signed here');
  const one = { key: 'dnssec.foreignKeys', message: /has 1 DNSKEY records of other signers/ };
  await t.rejects(editDnssec(ctx, zoneId, { status: 'active' }), one);
  await deleteRecord(ctx, zoneId, early.id);
  await t.rejects(editDnssec(ctx, zoneId, { dnssec_multi_signer: true }), { key: 'dnssec.notSigned' } as never);
  t.match(await editDnssec(ctx, zoneId, { status: 'active' }), { multiSigner: false });
  await t.rejects(add(FOREIGN), off);
  t.match(await editDnssec(ctx, zoneId, { dnssec_multi_signer: true }), { multiSigner: true });
  await t.rejects(add(FOREIGN.replace(' 13 ', ' 8 ')), { key: 'dnssec.notZoneKey', message: /not a key of a zone/ });
  await t.rejects(add(FOREIGN.replace('256', '0')), { key: 'dnssec.notZoneKey', message: /flags 256 or 257/ });
  const ed25519 = '256 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=';
  await t.rejects(add(ed25519), { key: 'dnssec.otherAlgorithm', message: /This key has 15, .* have 13\./ });
  await t.rejects(add(FOREIGN, 'below'), { key: 'records.validation', message: /name of the zone/ });

  const zsk = await add(FOREIGN);
  verify('a foreign ZSK');
  t.equal(contents(Type.dnskey).length, 3);
  t.match((await listKeys(ctx, zoneId)).keys.at(-1), { role: 'zsk', state: 'external', ds: undefined });
  t.same(contents(Type.cds), []);
  const ksk = await add(FOREIGN.replace('256', '257'));
  verify('a foreign KSK');
  t.match((await listKeys(ctx, zoneId)).keys.at(-1), { role: 'ksk', state: 'external', ds: { digestType: 2 } });
  t.same(contents(Type.cds), [], 'not before ours is named');
  clock.advance(2 * 86_400_000);
  const job = {
    store: ctx.store,
    clock,
    log: ctx.log,
    attempt: 0,
    signal: AbortSignal.abort(),
    requireLease: () => {},
  };
  await parentJob(ctx).handler(job, zoneId);
  verify('ours is named');
  t.equal(contents(Type.cds).length, 2, 'the KSKs of both, and no ZSK');
  t.same(
    contents(Type.cdnskey),
    contents(Type.dnskey).filter((content) => content.startsWith('257 ')),
  );
  const left = { key: 'dnssec.foreignKeys', message: /2 DNSKEY records of other signers/ };
  await t.rejects(editDnssec(ctx, zoneId, { dnssec_multi_signer: false }), left);
  await t.rejects(deleteDnssec(ctx, zoneId), left);
  await deleteRecord(ctx, zoneId, zsk.id);
  await deleteRecord(ctx, zoneId, ksk.id);
  verify('none');
  t.equal(contents(Type.dnskey).length, 2);
  t.match(await editDnssec(ctx, zoneId, { dnssec_multi_signer: false }), { multiSigner: false });
});

t.test('unbound believes BIND and us, whichever it asks', { skip, timeout: 300_000 }, async (t) => {
  const { ctx, zoneId, contents, verify, directory: directoryOfStore } = await start(t);
  const names = Array.from({ length: 4 }, (_, i) => `h${i}`);
  for (const name of names) await createRecord(ctx, zoneId, { type: 'A', name, content: '192.0.2.1' });
  const own = await editDnssec(ctx, zoneId, { status: 'active', dnssec_multi_signer: true });

  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-signers-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const run = (program: string, ...args: string[]): string =>
    execFileSync(`/usr/bin/${program}`, args, { cwd: directory, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const made = [['-f', 'KSK'], []].map((flags) => run('dnssec-keygen', '-a', '13', ...flags, APEX).trim());
  for (const key of made) {
    const [, content] = /DNSKEY\s+(.*)$/m.exec(readFileSync(join(directory, `${key}.key`), 'latin1'))!;
    await createRecord(ctx, zoneId, { type: 'DNSKEY', name: '@', content: content! });
  }
  verify('the keys of both');
  t.equal(contents(Type.dnskey).length, 4);
  const keys = contents(Type.dnskey).map((content) => `@ 3600 IN DNSKEY ${content}\n`);
  const records = names.map((name) => `${name} 300 IN A 192.0.2.1\n`);
  const soa = '@ 3600 IN SOA ns h 1 7200 3600 1209600 60\n@ 3600 IN NS ns1.dns.test.\n';
  writeFileSync(join(directory, 'zone'), `$TTL 300\n${soa}${records.join('')}${keys.join('')}`);
  // Only the keys whose private halves it finds sign.
  run('dnssec-signzone', '-O', 'full', '-o', APEX, '-f', 'signed', 'zone');
  const text = readFileSync(join(directory, 'signed'), 'latin1');
  const theirDs = run('dnssec-dsfromkey', '-2', `${made[0]}.key`).trim();

  const references = await startReferences([{ apex: `${APEX}.`, text }]);
  t.teardown(() => references.stop());
  const { port } = await publishZones(t, ctx, directoryOfStore);
  const bind = references.servers.find(({ name }) => name === 'bind')!.port;
  const anchors = [own.key!.ds!.line, theirDs];
  for (const [who, ports, trusted] of [
    ['both', [port, bind], anchors],
    ['us alone', [port], [anchors[0]!]],
    ['BIND alone', [bind], [anchors[1]!]],
  ] as const) {
    const { judge } = await startUnbound(t, { names: [APEX], ports, anchors: trusted, settings: WITHOUT_CACHE });
    for (const name of names) t.equal(await judge(`${name}.${APEX}`, Type.a), 'secure 0', `${who}: ${name}`);
    for (const name of names) t.equal(await judge(`no${name}.${APEX}`, Type.a), 'secure 3', `${who}: no${name}`);
    t.equal(await judge(APEX, Type.dnskey), 'secure 0', who);
  }
  const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
  t.equal(items.filter(({ type }) => type === 'DNSKEY').length, 2, 'our own keys are not records');
  const job = {
    store: ctx.store,
    clock: ctx.clock,
    log: ctx.log,
    attempt: 0,
    signal: AbortSignal.abort(),
    requireLease: () => {},
  };
  await signingJob(ctx).handler(job, zoneId);
  t.match(await getDnssec(ctx, zoneId), { multiSigner: true, key: { tag: own.key!.tag } });
});
