/** Notices: what is not an error but often not meant. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseIP } from '../../../src/base/ip.js';
import { createAccount } from '../../../src/control/access/accounts.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { noticesOfAccounts, noticesOfInstallation } from '../../../src/control/zones/notices.js';
import { createZone, editZone, getZone } from '../../../src/control/zones/zones.js';
import { startControl } from '../fixture.js';

const REAL = { nameServers: ['ns1.example.org', 'ns2.example.org'] };
const LOOPBACK = { edgeAddresses: [parseIP('127.0.0.1')!, parseIP('::1')!] };

function codes({ store, settings }: Context): string[] {
  return noticesOfInstallation(store, settings).map(({ code }) => code);
}

t.test('nothing to say', async (t) => {
  const { ctx } = await startControl(t, REAL);
  t.same(codes(ctx), []);
  const { id } = await createZone(ctx, { name: 'example.com' });
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
  t.same(codes(ctx), []);
});

t.test('a second account', async (t) => {
  const { ctx, clock } = await startControl(t, REAL);
  const told = (activation: 'auto' | 'trust' | 'delegation') =>
    noticesOfAccounts(ctx.store, activation, clock.nowUs()).map(({ code }) => code);
  t.same([...told('auto'), ...told('trust')], [], 'who is alone is believed');
  const before = await createZone(ctx, { name: 'example.com' });
  await createAccount(ctx, { name: 'second' });
  t.same([told('auto'), told('trust'), told('delegation')], [['several-accounts'], ['trusted-names'], []]);
  t.match(await getZone(ctx, before.id), { status: 'active', proof: { by: 'operator' } });
  clock.advance(8 * 86_400_000);
  t.same([told('auto'), told('trust')], [[], ['trusted-names']]);
});

t.test('name servers that do not exist', async (t) => {
  const { ctx } = await startControl(t);
  t.same(codes(ctx), [], 'no zone has them');
  const { id } = await createZone(ctx, { name: 'example.com' });
  t.match(noticesOfInstallation(ctx.store, ctx.settings), [
    {
      text: 'the name servers of one zone are ns1.dns.test and ns2.dns.test, which do not exist for anybody else',
      remedy: /--nameservers/,
    },
  ]);
  await editZone(ctx, id, { vanity_name_servers: ['ns1.example.com'] });
  t.same(codes(ctx), [], 'it has its own');
});

t.test('proxied records while the edge is loopback', async (t) => {
  const { ctx } = await startControl(t, { ...REAL, ...LOOPBACK });
  const { id } = await createZone(ctx, { name: 'example.com' });
  t.same(codes(ctx), []);
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
  t.match(noticesOfInstallation(ctx.store, ctx.settings), [
    { code: 'loopback-edge', text: /^the proxied names of example\.com answer loopback/, remedy: /--edge-addresses/ },
  ]);
});

const FILE = '$TTL 300\n@ SOA ns.example.net. h 1 7200 900 1209600 300\n@ NS ns.example.net.\nwww A 192.0.2.1\n';

t.test('a zone that shadows its parent, and one without name servers', async (t) => {
  const { ctx } = await startControl(t, REAL);
  const parent = await createZone(ctx, { name: 'example.com' });
  const child = await importZone(ctx, { source: { text: FILE }, origin: 'lab.example.com' });
  t.match(child.issues, [
    { severity: 'warning', code: 'shadows-parent', message: /add NS records for lab\.example\.com/ },
  ]);
  t.match(noticesOfInstallation(ctx.store, ctx.settings), [
    { code: 'shadows-parent', text: /^lab\.example\.com takes/ },
  ]);
  await createRecord(ctx, parent.id, { type: 'NS', name: 'lab', content: 'ns.example.net' });
  t.same(codes(ctx), []);
  const { items } = await listRecords(ctx, child.zoneId!, { types: ['NS'] });
  await deleteRecord(ctx, child.zoneId!, items[0]!.id);
  t.match(noticesOfInstallation(ctx.store, ctx.settings), [
    {
      code: 'no-name-servers',
      text: /^lab\.example\.com has no NS records/,
      remedy: /record add lab\.example\.com @ NS/,
    },
  ]);
  await createZone(ctx, { name: 'elsewhere.example', type: 'secondary' });
  t.same(codes(ctx), ['no-name-servers'], 'what a primary elsewhere has, or has not sent yet, is not said here');
});

t.test('imports say the same of their zone', async (t) => {
  const { ctx } = await startControl(t, LOOPBACK);
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-notices-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'example.com.zone');
  writeFileSync(file, FILE);
  const own = await importZone(ctx, { source: { file } });
  t.match(own.issues, [{ code: 'guessed-origin' }]);
  const ours = await importZone(ctx, { source: { file }, replace: true, automaticSoa: true, proxied: true });
  t.same(
    ours.issues.map(({ code }) => code),
    ['guessed-origin', 'test-name-servers', 'loopback-edge'],
  );
  const bare = await importZone(ctx, { source: { text: FILE.replace(/^@ NS.*\n/m, '') }, origin: 'bare.example' });
  t.same(bare.issues.map(({ code }) => code).sort(), ['no-apex-ns', 'service-name-servers', 'test-name-servers']);
});
