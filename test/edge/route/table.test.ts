/** The routing table: what is found again is forgotten when it changes, also what was asked for last. */
import t from 'tap';
import { parseIP } from '../../../src/base/ip.js';
import { createAccount } from '../../../src/control/access/accounts.js';
import { createRecord, deleteRecord } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { createRoutingTable, type RoutingTable } from '../../../src/edge/route/table.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { startControl } from '../../control/fixture.js';
import { addHostname, EDGE_ADDRESS, proxy } from '../fixture.js';

t.test('the host that was asked for last is forgotten like all others', async (t) => {
  const { ctx } = await startControl(t, { edgeAddresses: [parseIP(EDGE_ADDRESS)!] });
  const { id } = await createZone(ctx, { name: 'a.test' });
  await createRecord(ctx, id, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const { seq } = findZoneByName(ctx.store, 'a.test')!;
  const table = createRoutingTable(ctx.store, ctx.settings);
  const kinds = (host: string): string[] => [1, 2, 3].map(() => table.find(host).kind);
  const forget: readonly ((table: RoutingTable) => void)[] = [(all) => all.forgetZone(seq), (all) => all.forgetAll()];
  for (const act of forget) {
    const record = await proxy(ctx, id, 'www', 'origin.a.test', 80);
    act(table);
    t.same(kinds('www.a.test'), ['origin', 'origin', 'origin']);
    t.same(kinds('other.a.test'), ['unknown', 'unknown', 'unknown'], 'another host has a route of its own');
    t.same(kinds('www.a.test'), ['origin', 'origin', 'origin']);
    await deleteRecord(ctx, id, record);
    act(table);
    t.same(kinds('www.a.test'), ['unknown', 'unknown', 'unknown']);
  }
  const named = [
    ['shop.b.test', 'shop.b.test'],
    ['any.b.test', '*.b.test'],
  ] as const;
  for (const [host, hostname] of named) {
    t.same(kinds(host), ['unknown', 'unknown', 'unknown']);
    await addHostname(ctx, 'a.test', hostname);
    table.forgetHostname(hostname);
    t.same(kinds(host), ['failure', 'failure', 'failure'], 'it has no origin');
  }
});

t.test('hosts of one account, and hosts that lead nowhere, drive out none of another account', async (t) => {
  const { ctx } = await startControl(t, { edgeAddresses: [parseIP(EDGE_ADDRESS)!] });
  const { id: account } = await createAccount(ctx, { name: 'other', members: ['other@example.org'] });
  const { id } = await createZone(ctx, { name: 'a.test' });
  const { id: greedy } = await createZone(ctx, { name: 'b.test', account });
  for (const [zone, name] of [
    [id, 'www'],
    [greedy, '*'],
  ] as const)
    await proxy(ctx, zone, name, 'origin.a.test', 80);
  const table = createRoutingTable(ctx.store, ctx.settings, 10);
  const own = table.find('www.a.test');
  t.equal(own.kind, 'origin');
  for (const host of ['b.test', 'unknown.example']) {
    for (let number = 0; number < 100; number++) table.find(`n${number}.${host}`);
    t.equal(table.find('www.a.test'), own, `it is not looked up again after a hundred below ${host}`);
    t.equal(table.size(), 10);
  }
});
