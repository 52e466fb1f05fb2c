/** Catalog zones on two copies of the database: their members follow the zones of the account. */
import t from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { createCatalog, deleteCatalog, editMember, listMembers } from '../../../src/control/catalogs/catalogs.js';
import { catalogJob } from '../../../src/control/catalogs/job.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { listRecords } from '../../../src/control/records/records.js';
import { createOutgoing, enableOutgoing, getOutgoing } from '../../../src/control/secondary/outgoing.js';
import { createPeer } from '../../../src/control/secondary/peers.js';
import { createZone, deleteZone, listZones } from '../../../src/control/zones/zones.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { nextJobAt, removeJob } from '../../../src/store/jobs.js';
import { findZoneById } from '../../../src/store/zones/zones.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startZone } from '../fixture.js';

t.test('a catalog follows the zones of its account', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const { store } = ctx;
  const account = toHex(allAccounts(store)[0]!.id);
  const peer = await createPeer(ctx, account, { name: 'ns2', ip: '192.0.2.53' });
  const catalog = await createCatalog(ctx, account, { peers: [peer.id] });
  t.equal(catalog.name, `catalog.${account}.invalid`);
  const run = async (): Promise<unknown> => {
    const lease = { store, clock, log: ctx.log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
    return catalogJob(ctx).handler(lease, catalog.id);
  };
  const names = async (id = catalog.id): Promise<string[]> =>
    (await listMembers(ctx, account, id)).map(({ name }) => name);
  const records = async (): Promise<string[]> =>
    (await listRecords(ctx, catalog.zoneId, { perPage: 100 })).items
      .map(
        ({ name, type, content }) =>
          `${name.replace(`.${catalog.name}`, '').replace(catalog.name, '@')} ${type} ${content}`,
      )
      .sort();

  t.strictSame(await records(), [`${zoneId}.zones PTR example.com`, '@ NS invalid', 'version TXT "2"']);
  t.match(await getOutgoing(ctx, zoneId), { enabled: true, peers: [peer.id] }, 'its peers may transfer the zones');
  t.equal(
    (await listZones(ctx, {})).items.some(({ name }) => name === catalog.name),
    false,
    'lists do not show it',
  );

  const second = await createZone(ctx, { name: 'second.example' });
  t.ok(nextJobAt(store, 'catalog') !== undefined, 'the write of a zone plans the update');
  await run();
  t.strictSame(await names(), ['example.com', 'second.example']);
  const before = await records();
  t.strictSame(await run(), { done: true });
  t.strictSame(await records(), before, 'nothing changes without a reason');

  await enableOutgoing(ctx, zoneId, false);
  await run();
  t.strictSame(await names(), ['second.example'], 'a zone that is transferred to nobody is not listed');
  await enableOutgoing(ctx, zoneId, true);
  await run();

  const reset = await editMember(ctx, account, catalog.id, second.id, { reset: true, group: 'a "b"' });
  t.not(reset.memberId, second.id);
  t.ok((await records()).includes(`group.${reset.memberId}.zones TXT "a \\"b\\""`));
  t.notOk(
    (await records()).some((text) => text.startsWith(second.id)),
    'it stands under its new identifier only',
  );

  const other = await createCatalog(ctx, account, { name: 'other.test', peers: [peer.id], members: 'linked' });
  await editMember(ctx, account, catalog.id, second.id, { move_to: other.id });
  t.ok((await records()).includes(`coo.${reset.memberId}.zones PTR other.test`));
  clock.advance(25 * 3_600_000);
  await run();
  t.notOk(
    (await records()).some((text) => text.includes(reset.memberId)),
    'after a day it has left',
  );
  t.ok((await names(other.id)).includes('second.example'));

  await deleteZone(ctx, second.id);
  await run();
  t.strictSame(await names(), ['example.com']);
  await t.rejects(createOutgoing(ctx, zoneId, { name: 'example.com', peers: [] }), { message: /has peers already/ });
  await t.rejects(createCatalog(ctx, account, { name: 'none.test', peers: [] }), { message: /body is invalid/ });
  await t.rejects(editMember(ctx, account, catalog.id, second.id, {}), { message: /No zone of the catalog/ });
  await deleteCatalog(ctx, account, catalog.id);
  t.strictSame(await run(), { done: true }, 'the job of a catalog that is gone ends');
});

t.test(
  'a zone with compact denial is in no catalog of all zones until absence is proven by nsec or nsec3',
  async (t) => {
    const { ctx: plain, clock, zoneId } = await startZone(t);
    const { store } = plain;
    const ctx = { ...plain, zoneKeys: await testZoneKeys(store, plain.random) };
    const account = toHex(allAccounts(store)[0]!.id);
    const peer = await createPeer(ctx, account, { name: 'ns2', ip: '192.0.2.53' });
    await editDnssec(ctx, zoneId, { status: 'active', denial: 'compact' });
    const catalog = await createCatalog(ctx, account, { peers: [peer.id] });
    const run = async (): Promise<void> => {
      const lease = { store, clock, log: ctx.log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
      await catalogJob(ctx).handler(lease, catalog.id);
      await store.write(() => removeJob(store, 'catalog', catalog.id));
    };
    const names = async (): Promise<string[]> => (await listMembers(ctx, account, catalog.id)).map(({ name }) => name);
    await createZone(ctx, { name: 'second.example' });
    await run();
    t.strictSame(await names(), ['second.example']);
    await t.rejects(getOutgoing(ctx, zoneId), { message: /not transferred to any peers/ });

    await editDnssec(ctx, zoneId, { denial: 'nsec' });
    t.ok(nextJobAt(store, 'catalog') !== undefined, 'the change plans the update');
    await run();
    t.strictSame(await names(), ['example.com', 'second.example']);
    t.match(await getOutgoing(ctx, zoneId), { enabled: true, peers: [peer.id] });
    await t.rejects(editDnssec(ctx, zoneId, { denial: 'compact' }), {
      status: 400,
      message: /is transferred to peers/,
    });
  },
);

t.test('a catalog of many zones is brought in line a few zones at a time', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const { store } = ctx;
  const account = toHex(allAccounts(store)[0]!.id);
  const peer = await createPeer(ctx, account, { name: 'ns2', ip: '192.0.2.53' });
  const made: { readonly id: string }[] = [];
  for (let i = 0; i < 45; i++) made.push(await createZone(ctx, { name: `z${i}.example` }));
  const catalog = await createCatalog(ctx, account, { peers: [peer.id] });
  const shown = async (): Promise<string[]> =>
    (await listRecords(ctx, catalog.zoneId, { perPage: 500, types: ['PTR'] })).items
      .map(({ name, content }) => `${name.split('.')[0]} ${content}`)
      .sort();
  const versionOf = (): number => findZoneById(store, Buffer.from(catalog.zoneId, 'hex'))!.version;
  /** How many commits changed the catalog. */
  const run = async (): Promise<number> => {
    const before = versionOf();
    const lease = { store, clock, log: ctx.log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
    t.strictSame(await catalogJob(ctx).handler(lease, catalog.id), { done: true });
    return versionOf() - before;
  };
  const first = (await shown()).length;
  t.ok(first < 30, `${first} in the write that makes it`);
  t.ok((await run()) > 1, 'the others in several writes');
  const wanted = [`${zoneId} example.com`, ...made.map(({ id }, i) => `${id} z${i}.example`)];
  t.strictSame(await shown(), [...wanted].sort());
  t.equal((await listMembers(ctx, account, catalog.id)).length, 46);
  t.equal(await run(), 0, 'nothing changes without a reason');
  for (const { id } of made.slice(0, 42)) await deleteZone(ctx, id);
  t.equal((await shown()).length, 46, 'zones that are gone are in it until the job has run');
  t.ok((await run()) > 1);
  t.strictSame(await shown(), [wanted[0]!, ...wanted.slice(43)].sort());
});
