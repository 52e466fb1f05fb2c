/** Use cases of zones, their settings, accounts and credentials; who sees what. */
import t from 'tap';
import {
  createAccount,
  deleteAccount,
  getAccount,
  getUser,
  listAccounts,
} from '../../../src/control/access/accounts.js';
import { authenticateKey, authenticateToken } from '../../../src/control/access/authentication.js';
import { createKey, ensureFirstAdministrator, listKeys, revokeKey } from '../../../src/control/access/keys.js';
import { requireZone } from '../../../src/control/guard/access.js';
import { importZone } from '../../../src/control/imports/zone.js';
import { type Context, PageTooLong } from '../../../src/control/kernel/context.js';
import { listMemberships } from '../../../src/control/people/memberships.js';
import { createRecord } from '../../../src/control/records/records.js';
import { checkActivation } from '../../../src/control/zones/activation.js';
import { editDnsSettings, getDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { createZoneHold } from '../../../src/control/zones/hold.js';
import {
  createZone,
  deleteZone,
  editZone,
  findZoneByName,
  getZone,
  listZones,
  type ZoneOrder,
  type ZoneQuery,
} from '../../../src/control/zones/zones.js';
import { changesAfter, lastChange } from '../../../src/store/log/changes.js';
import { servedZones, updateZone, zonesOfName } from '../../../src/store/zones/zones.js';
import { latestEvents } from '../../support/rows.js';
import { ADMIN, ADMIN_KEY, refusal, startControl } from '../fixture.js';

/** A context of a user of an account of their own. */
async function asTenant(ctx: Context, name: string): Promise<Context & { accountId: string }> {
  const account = await createAccount(ctx, { name, members: [`${name}@example.org`] });
  const { secret } = await createKey(ctx, { kind: 'token', name: 'test', email: `${name}@example.org` });
  const result = await authenticateToken(ctx, secret, '127.0.0.1');
  if (!result.ok) throw new Error(result.reason);
  return { ...ctx, actor: result.actor, accountId: account.id };
}

t.test('create', async (t) => {
  const { ctx, clock } = await startControl(t);
  const zone = await createZone(ctx, { name: 'Example.COM.', account: { id: '' }, type: null });
  t.match(zone, {
    name: 'example.com',
    asciiName: 'example.com',
    status: 'active',
    paused: false,
    type: 'full',
    nameServers: ['ns1.dns.test', 'ns2.dns.test'],
    vanityNameServers: null,
    recordCount: 0,
    nameServerMode: 'service',
    soa: { mname: 'ns1.dns.test', rname: 'dns.dns.test', serial: Math.floor(clock.nowMs() / 1000) },
  });
  t.match(zone.id, /^[0-9a-f]{32}$/);
  t.equal(zone.activatedAt, zone.createdAt);
  t.match(await createZone(ctx, { name: 'bücher.example' }), {
    name: 'bücher.example',
    asciiName: 'xn--bcher-kva.example',
  });
  t.match(await createZone(ctx, { name: 'sub.example.com' }), { name: 'sub.example.com' }, 'sub-domains are zones too');
  t.match(await createZone(ctx, { name: '2.0.192.in-addr.arpa' }), { status: 'active' });
  t.match(await createZone(ctx, { name: 'partial.example', type: 'partial' }), { verificationKey: /^\d{9}-\d{9}$/ });

  const refused: [string, number, string | RegExp][] = [
    ['example.com', 1061, 'example.com already exists'],
    ['EXAMPLE.com.', 1061, 'example.com already exists'],
    ['', 1002, /empty/],
    ['.', 1002, /empty/],
    ['a..example', 1002, /empty label/],
    ['a b.example', 1002, /the label a b has characters other than letters/],
    ['https://www.example', 1002, /the label https:\/\/www has characters other than letters/],
    ['-a.example', 1002, /the label -a begins or ends with a hyphen/],
    ['*.example', 1002, /the label \* is a wildcard/],
    [`${'x'.repeat(64)}.example`, 1002, /63/],
    [`${'x'.repeat(60)}.`.repeat(5), 1002, /253/],
    ['192.0.2.1', 1002, /number/],
  ];
  for (const [name, code, message] of refused) {
    t.match(await refusal(createZone(ctx, { name })), { status: 400, code, message }, String(name));
  }
  t.match(await refusal(createZone(ctx, { name: 'x.example', type: 'internal' })), { status: 400, code: 1002 });
  t.match(await refusal(createZone(ctx, { name: 'x.example', account: { id: '0'.repeat(32) } })), { status: 404 });
  t.match(changesAfter(ctx.store, 0, 1)[0], { kind: 'zone-added', serial_to: zone.soa.serial });
});

t.test('list', async (t) => {
  const { ctx } = await startControl(t);
  for (const name of ['example.com', 'example.net', 'bücher.example', 'other.org']) await createZone(ctx, { name });
  await createZone(ctx, { name: 'partial.org', type: 'partial' });
  const find = async (query: ZoneQuery): Promise<string[]> =>
    (await listZones(ctx, query)).items.map(({ name }) => name);
  const byName = (operator: NonNullable<ZoneQuery['name']>['operator'], value: string) =>
    find({ name: { operator, value } });
  t.equal((await find({})).length, 5);
  t.same(await byName('equal', 'Example.com.'), ['example.com']);
  t.same(await byName('equal', 'BÜCHER.example'), ['bücher.example']);
  t.same(await byName('equal', 'xn--bcher-kva.example'), ['bücher.example']);
  t.same(await byName('equal', 'com'), []);
  t.equal((await byName('not_equal', 'example.com')).length, 4);
  t.same(await byName('starts_with', 'EXAMPLE'), ['example.com', 'example.net']);
  t.same(await byName('ends_with', '.ORG'), ['other.org', 'partial.org']);
  t.same(await byName('contains', 'THE'), ['other.org']);
  t.same(await byName('contains_case_sensitive', 'THE'), []);
  t.same(await byName('starts_with_case_sensitive', 'example.n'), ['example.net']);
  t.same(await byName('ends_with_case_sensitive', '.com'), ['example.com']);
  t.same(await find({ encloses: 'Assets.Shop.Example.com.' }), ['example.com']);
  t.same(await find({ encloses: 'www.bücher.example' }), ['bücher.example']);
  t.same(await find({ encloses: 'ample.com' }), [], 'labels are whole');
  t.same(await find({ encloses: 'a..com' }), []);
  t.same(await find({ types: ['partial'] }), ['partial.org']);
  t.same(await find({ types: ['internal'] }), []);
  t.equal((await find({ statuses: ['active'] })).length, 5);
  t.same(await find({ statuses: ['pending', 'moved'] }), []);
  t.same(await find({ name: { operator: 'equal', value: 'example.com' }, statuses: ['pending'], match: 'any' }), [
    'example.com',
  ]);
  t.same(await find({ direction: 'desc', perPage: 2 }), ['bücher.example', 'partial.org']);
  const account = (await listAccounts(ctx, {})).items[0]!;
  t.equal((await find({ accountId: account.id })).length, 5);
  t.same(await find({ accountId: 'x' }), []);
  t.equal((await find({ accountName: { operator: 'contains', value: 'ADMIN@' } })).length, 5);
  t.same(await find({ accountName: { operator: 'contains', value: 'JÖRG' } }), [], 'letters that SQLite does not fold');
  t.match(await listZones(ctx, { page: 3, perPage: 2 }), { page: 3, perPage: 2, totalCount: 5, items: { length: 1 } });
  t.match(await listZones(ctx, { page: 9 }), { page: 9, perPage: 20, totalCount: 5, items: { length: 0 } });
  t.equal((await findZoneByName(ctx, 'Bücher.Example.'))?.asciiName, 'xn--bcher-kva.example');
  t.equal(await findZoneByName(ctx, 'not a name'), undefined);
});

t.test('pages behind pages are the list, from whichever end they are read', async (t) => {
  const { ctx: operator } = await startControl(t);
  let ctx = operator;
  const ids: string[] = [];
  for (let i = 0; i < 13; i++) {
    const { id } = await createZone(ctx, {
      name: `zone${(i * 5) % 13}.example`,
      type: i % 4 === 2 ? 'partial' : 'full',
    });
    ids.push(id);
    // None can be made so far.
    const { seq } = requireZone(ctx, id);
    if (i % 4 === 3) await ctx.store.write(() => updateZone(ctx.store, seq, { type: 'internal' }));
  }
  const compare = async (totalCount: number, orders: readonly ZoneOrder[] = ['name']): Promise<void> => {
    for (const order of orders) {
      for (const direction of ['asc', 'desc'] as const) {
        for (const types of [undefined, ['internal'] as const, ['full', 'internal'] as const]) {
          const query = { order, direction, ...(types && { types }) };
          const all = await listZones(ctx, { ...query, perPage: 50 });
          if (!types) t.equal(all.totalCount, totalCount);
          const found = [];
          for (let page = 1; (page - 1) * 4 < all.totalCount; page++) {
            found.push(...(await listZones(ctx, { ...query, page, perPage: 4 })).items);
          }
          t.strictSame(found, all.items, `${order} ${direction} ${types ?? 'all types'}`);
        }
      }
    }
    const [names, backwards] = [await listZones(ctx, {}), await listZones(ctx, { direction: 'desc' })];
    const namesOf = ({ items }: typeof names): string[] => items.map(({ name }) => name);
    t.strictSame(namesOf(names), namesOf(names).toSorted());
    t.strictSame(namesOf(backwards), namesOf(names).toReversed());
  };
  for (const id of [ids[3]!, ids[4]!, ids[6]!]) await deleteZone(ctx, id);
  await compare(8);
  const other = await createAccount(ctx, { name: 'Other' });
  const [own] = (await listAccounts(ctx, {})).items.filter(({ id }) => id !== other.id);
  for (let i = 0; i < 6; i++) await createZone(ctx, { name: `other${i}.example`, account: other.id });
  await compare(14, ['name', 'account.name']);
  const actor = { ...ctx.actor, superAdministrator: false };
  for (const [ids, count] of [
    [[own!.id], 8],
    [[other.id], 6],
    [[own!.id, other.id], 14],
    [[], 0],
  ] as const) {
    ctx = { ...operator, actor: { ...actor, accountIds: ids } };
    await compare(count);
  }
  ctx = operator;
  for (const { id } of (await listZones(ctx, { types: ['internal'] })).items) await deleteZone(ctx, id);
  ctx = { ...operator, actor: { ...actor, accountIds: [own!.id] } };
  await compare(8);
});

t.test('a page for which too many zones would be looked through is not read', async (t) => {
  const { ctx } = await startControl(t);
  for (let i = 0; i < 12; i++) await createZone(ctx, { name: `zone${i}.example` });
  const mostRead = 5;
  const isTooLong = (reading: Promise<unknown>): Promise<boolean> =>
    reading.then(
      () => false,
      (error: unknown) => error instanceof PageTooLong,
    );
  const find = async (query: ZoneQuery): Promise<number> =>
    (await listZones(ctx, { perPage: 2, mostRead, ...query })).items.length;
  const other = await createAccount(ctx, { name: 'Other' });
  const [own] = (await listAccounts(ctx, {})).items.filter(({ id }) => id !== other.id);
  const actor = { ...ctx.actor, superAdministrator: false, accountIds: [own!.id] };
  for (const query of [{}, { page: 2 }, { page: 5 }, { page: 6 }, { page: 7 }] satisfies ZoneQuery[]) {
    for (const direction of ['asc', 'desc'] as const) {
      t.equal(await find({ ...query, direction }), query.page === 7 ? 0 : 2, JSON.stringify(query));
      const { items } = await listZones({ ...ctx, actor }, { perPage: 2, mostRead, ...query, direction });
      t.equal(items.length, query.page === 7 ? 0 : 2, 'of one account');
    }
  }
  t.equal(await find({ name: { operator: 'equal', value: 'zone3.example' } }), 1);
  const long: ZoneQuery[] = [
    ...([{ page: 3 }, { page: 4 }, { perPage: 6 }, { order: 'account.name' }, { accountId: own!.id }] as const),
    ...([
      { name: { operator: 'contains', value: 'zone3' } },
      { types: ['internal'] },
      { encloses: 'zone3.example' },
    ] as const),
    { name: { operator: 'equal', value: 'zone3.example' }, statuses: ['pending'], match: 'any' },
  ];
  for (const query of long) {
    t.ok(await isTooLong(find(query)), JSON.stringify(query));
    t.ok((await find({ ...query, mostRead: 12 })) >= 0, 'there are no more');
  }
  const both = { ...ctx, actor: { ...actor, accountIds: [own!.id, other.id] } };
  t.ok(await isTooLong(listZones(both, { mostRead })));
});

t.test('edit and delete', async (t) => {
  const { ctx } = await startControl(t);
  const { id, soa, version } = await createZone(ctx, { name: 'example.com' });
  const before = lastChange(ctx.store);
  t.match(await editZone(ctx, id, {}), { soa, version });
  t.equal(lastChange(ctx.store), before, 'nothing changed');
  const paused = await editZone(ctx, id, {
    paused: true,
    vanity_name_servers: ['NS1.Example.com.', 'ns1.example.com'],
  });
  t.match(paused, { paused: true, nameServers: ['ns1.example.com'], vanityNameServers: ['ns1.example.com'] });
  t.equal(paused.soa.serial, soa.serial + 1);
  t.match(changesAfter(ctx.store, before, 9), [
    { kind: 'settings', serial_from: soa.serial, serial_to: soa.serial + 1 },
  ]);
  t.match(JSON.parse(latestEvents(ctx.store, 1)[0]!.after!), { paused: 1 });
  t.match(await editZone(ctx, id, { vanity_name_servers: [] }), { vanityNameServers: null });
  t.match(await refusal(editZone(ctx, id, { vanity_name_servers: ['no host'] })), {
    status: 400,
    code: 1006,
    message: /no host/,
  });
  const seq = servedZones(ctx.store)[0]!;
  t.match(await editZone(ctx, id, { type: 'partial' }), { type: 'partial' });
  t.same(servedZones(ctx.store), [], 'a partial zone is not served');
  await editZone(ctx, id, { type: 'full' });
  t.same(servedZones(ctx.store), [seq]);

  await createRecord(ctx, id, { type: 'A', name: 'a', content: '192.0.2.1' });
  const last = lastChange(ctx.store);
  t.equal(await deleteZone(ctx, id), id);
  t.match(changesAfter(ctx.store, last, 9), [{ kind: 'zone-removed', zone: seq }]);
  t.match(await refusal(getZone(ctx, id)), { status: 404, code: 1001, message: 'Invalid zone identifier' });
  t.match(await refusal(deleteZone(ctx, id)), { status: 404, code: 1001 });
  t.equal(ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM records').get()![0], 0);
  await createZone(ctx, { name: 'example.com' });
  t.notSame(servedZones(ctx.store), [seq], 'store numbers are never used again');
});

t.test('DNS settings', async (t) => {
  const { ctx } = await startControl(t);
  const { id, soa } = await createZone(ctx, { name: 'example.com' });
  t.same(await getDnsSettings(ctx, id), {
    flattenAllCnames: false,
    foundationDns: false,
    multiProvider: false,
    secondaryOverrides: false,
    nsTtl: 86400,
    zoneMode: 'standard',
    soa: { mname: null, rname: 'dns.dns.test', refresh: 10000, retry: 2400, expire: 604800, minTtl: 1800, ttl: 3600 },
  });
  const edit = {
    multi_provider: true,
    ns_ttl: 3600,
    soa: { refresh: 7200, mname: 'Ns.Example.com.' },
  };
  t.match(await editDnsSettings(ctx, id, edit), {
    multiProvider: true,
    nsTtl: 3600,
    soa: { refresh: 7200, retry: 2400, mname: 'ns.example.com' },
  });
  t.match(await editDnsSettings(ctx, id, { soa: { mname: null }, zone_mode: 'dns_only' }), {
    zoneMode: 'dns_only',
    soa: { mname: null, refresh: 7200 },
  });
  t.equal((await getZone(ctx, id)).soa.serial, soa.serial + 2);
  const refused: [Record<string, unknown>, string][] = [
    [{ soa: { retry: 86400 } }, '/soa/retry'],
    [{ soa: { expire: 86400, refresh: 86401 } }, '/soa/expire'],
    [{ soa: { rname: 'a b' } }, '/soa/rname'],
    [{ soa: { mname: '' } }, '/soa/mname'],
  ];
  for (const [body, pointer] of refused) {
    t.match(await refusal(editDnsSettings(ctx, id, body)), { status: 400, code: 9207, pointer }, pointer);
  }
});

t.test('tenants', async (t) => {
  const { ctx } = await startControl(t);
  const zone = await createZone(ctx, { name: 'example.com' });
  const tenant = await asTenant(ctx, 'tenant');
  t.equal((await listZones(tenant, {})).totalCount, 0, 'lists leave foreign zones out');
  t.match(await refusal(getZone(tenant, zone.id)), { status: 404, code: 1001 });
  t.match(await refusal(editZone(tenant, zone.id, { paused: true })), { status: 404, code: 1001 });
  t.match(await refusal(deleteZone(tenant, zone.id)), { status: 404, code: 1001 });
  t.match(await refusal(createZone(ctx, { name: 'example.com' })), { code: 1061 });
  t.match(await createZone(tenant, { name: 'example.com' }), { status: 'pending' }, 'first come, first served');
  await deleteZone(tenant, (await findZoneByName(tenant, 'example.com'))!.id);
  const own = await createZone(tenant, { name: 'tenant.example' });
  t.equal(own.account.id, tenant.accountId);
  t.same((await listZones(tenant, {})).items, [own]);
  t.match(await createZone(tenant, { name: 'a.tenant.example' }), { status: 'active' });
  t.match(await refusal(createZone(tenant, { name: 'b.example', account: { id: zone.account.id } })), {
    status: 403,
    code: 9109,
  });
  t.same(
    (await listAccounts(tenant, {})).items.map(({ id }) => id),
    [tenant.accountId],
  );
  t.match(await getAccount(tenant, tenant.accountId), { name: 'tenant' });
  t.match(await refusal(getAccount(tenant, zone.account.id)), { status: 403, code: 9109 });
  t.match(await refusal(getAccount(tenant, '0'.repeat(32))), { status: 403, code: 9109 }, 'as if there were one');
  t.match(await refusal(getAccount(tenant, 'x')), { status: 404 });
  t.match(await refusal(createAccount(tenant, { name: 'mine' })), { status: 403, code: 1002 });
  t.match(await getUser(tenant), { email: 'tenant@example.org', superAdministrator: false });
  t.match(await listMemberships(tenant), [{ account: { id: tenant.accountId } }]);

  const { seq } = zonesOfName(ctx.store, 'tenant.example')[0]!;
  await ctx.store.write(() => updateZone(ctx.store, seq, { hold_after: 1, hold_include_subdomains: 1 }));
  t.match(
    await createZone(ctx, { name: 'b.tenant.example' }),
    { status: 'active' },
    'anybody could have made the zone',
  );
  const held = (await findZoneByName(ctx, 'tenant.example'))!;
  await checkActivation(ctx, held.id);
  t.match(await refusal(createZone(ctx, { name: 'c.tenant.example' })), { code: 1118 }, 'held with its sub-domains');
});

t.test('public suffixes are for administrators', async (t) => {
  const { ctx } = await startControl(t);
  const tenant = await asTenant(ctx, 'tenant');
  for (const name of ['com', 'co.uk', 'in-addr.arpa', 'xn--p1ai', 'github.io', 'lan']) {
    t.match(await refusal(createZone(tenant, { name })), { status: 400, code: 1097, pointer: '/name' }, name);
  }
  t.match(await createZone(tenant, { name: 'example.co.uk' }), { status: 'active' });
  t.match(await createZone(tenant, { name: '2.0.192.in-addr.arpa' }), { status: 'active' });
  const lenient = { ...tenant, settings: { ...tenant.settings, privateSuffixes: 'allow' as const } };
  t.match(await createZone(lenient, { name: 'github.io' }), { status: 'active' }, 'by setting');
  t.match(await refusal(createZone(lenient, { name: 'com' })), { code: 1097 });
  t.match(await createZone(ctx, { name: 'com' }), { status: 'active' });
});

t.test('below a zone of another account', async (t) => {
  const { ctx } = await startControl(t);
  const [mine, theirs] = [await asTenant(ctx, 'mine'), await asTenant(ctx, 'theirs')];
  const above = await createZone(mine, { name: 'example.com' });
  const below = await createZone(theirs, { name: 'shop.example.com' });
  const isServed = (name: string): boolean => zonesOfName(ctx.store, name)[0]!.served === 1;
  t.equal(below.status, 'pending');
  t.notOk(isServed('shop.example.com'), 'it takes no answers away from the zone above');
  t.match(await checkActivation(theirs, below.id), { status: 'pending' }, 'trust does not decide between two accounts');
  await editZone(theirs, below.id, { paused: true });
  await editZone(theirs, below.id, { paused: false });
  t.notOk(isServed('shop.example.com'), 'nor does a change of it');
  await createZoneHold(mine, above.id, true);
  t.match(
    await createZone(theirs, { name: 'b.example.com' }),
    { status: 'pending' },
    'a hold of a zone nobody vouched for',
  );
  const delegate = (content: string) => createRecord(mine, above.id, { type: 'NS', name: 'shop', content });
  await delegate('ns1.dns.test');
  t.match(await checkActivation(theirs, below.id), { status: 'pending' }, 'half of a delegation');
  await delegate('ns2.dns.test');
  t.match(await checkActivation(theirs, below.id), { status: 'active' }, 'the zone above delegates');
  t.ok(isServed('shop.example.com'));
  t.match(await createZone(theirs, { name: 'a.shop.example.com' }), { status: 'active' }, 'its own account’s part');
  const outside = { ...theirs, findDelegation: async () => ['NS1.dns.test.', 'ns2.dns.test'] };
  const b = (await findZoneByName(theirs, 'b.example.com'))!;
  t.match(await checkActivation(outside, b.id), { status: 'active' }, 'the parent outside delegates');
  await checkActivation(ctx, above.id);
  t.match(await refusal(createZone(theirs, { name: 'c.example.com' })), { code: 1118 }, 'an administrator vouched');
  t.match(await createZone(ctx, { name: 'd.example.net' }), { status: 'active' });
});

t.test('activation by delegation', async (t) => {
  const delegations: Record<string, string[]> = {};
  const started = await startControl(t, { activation: 'delegation' });
  const ctx: Context = { ...started.ctx, findDelegation: async (name) => delegations[name] };
  const first = await createZone(ctx, { name: 'example.com' });
  t.match(first, { status: 'pending', activatedAt: null });
  t.equal(servedZones(ctx.store).length, 1, 'answered before the delegation points here');
  t.match(await checkActivation(ctx, first.id), { status: 'pending' });
  delegations['example.com'] = ['NS1.dns.test.'];
  t.match(await checkActivation(ctx, first.id), { status: 'pending' }, 'one of two is not enough');
  delegations['example.com'] = ['NS1.dns.test.', 'ns2.dns.test', 'ns3.other.test'];
  const active = await checkActivation(ctx, first.id);
  t.match(active, { status: 'active' });
  t.ok(active.activatedAt);

  const tenant = await asTenant(ctx, 'tenant');
  const second = await createZone({ ...ctx, actor: tenant.actor }, { name: 'example.com' });
  t.equal(second.status, 'pending');
  t.equal(servedZones(ctx.store).length, 1, 'the first one is served');
  const claim = await checkActivation({ ...ctx, actor: tenant.actor }, second.id);
  t.match(claim, { status: 'pending' }, 'a delegation to everybody’s name servers does not tell whose it is');
  t.match(await getZone(ctx, first.id), { status: 'active' });
  t.equal(servedZones(ctx.store).length, 1);
  t.equal(zonesOfName(ctx.store, 'example.com').find(({ served }) => served === 1)?.account, 1);
});

t.test('credentials', async (t) => {
  const { ctx, clock } = await startControl(t);
  t.same(await ensureFirstAdministrator(ctx, { email: 'b@example.org' }), { created: false });
  const admin = await authenticateKey(ctx, ADMIN.toUpperCase(), ADMIN_KEY, '127.0.0.1');
  t.match(admin, { ok: true, actor: { email: ADMIN, superAdministrator: true, kind: 'key', readOnly: false } });
  t.match(await authenticateToken(ctx, ADMIN_KEY, '127.0.0.1'), { ok: true }, 'the key is a bearer token too');
  t.same(await authenticateKey(ctx, 'other@example.org', ADMIN_KEY, '127.0.0.1'), { ok: false, reason: 'unknown' });
  t.same(await authenticateKey(ctx, ADMIN, `${ADMIN_KEY.slice(0, -1)}B`, '127.0.0.1'), {
    ok: false,
    reason: 'unknown',
  });
  t.same(await authenticateToken(ctx, '', '127.0.0.1'), { ok: false, reason: 'unknown' });

  const zone = await createZone(ctx, { name: 'example.com' });
  const expiresAt = clock.nowMs() * 1000 + 5_000_000;
  const { key, secret } = await createKey(ctx, {
    kind: 'token',
    name: ' ci ',
    email: ADMIN,
    accountId: zone.account.id,
    zoneIds: [zone.id],
    readOnly: true,
    expiresAt,
  });
  t.match(secret, /^[A-Za-z0-9_-]{40}$/);
  t.match(key, {
    kind: 'token',
    name: 'ci',
    status: 'active',
    readOnly: true,
    zoneIds: [zone.id],
    lastUsedAt: null,
    expiresAt,
  });
  t.same(
    await authenticateKey(ctx, ADMIN, secret, '127.0.0.1'),
    { ok: false, reason: 'unknown' },
    'a token is not a key',
  );
  const token = await authenticateToken(ctx, secret, '127.0.0.1');
  t.match(token, {
    ok: true,
    actor: { superAdministrator: false, accountIds: [zone.account.id], zoneIds: [zone.id], readOnly: true },
  });
  if (token.ok) {
    const limited = { ...ctx, actor: token.actor };
    t.match(await getZone(limited, zone.id), { name: 'example.com' });
    t.match(await refusal(editZone(limited, zone.id, { paused: true })), { status: 403, code: 10000 });
    const other = await createZone(ctx, { name: 'example.net' });
    t.match(await refusal(getZone(limited, other.id)), { status: 403, code: 10000 });
    t.equal((await listZones(limited, {})).totalCount, 1);
    const writing = { ...limited, actor: { ...token.actor, readOnly: false } };
    t.match(await refusal(createKey(writing, { kind: 'token', name: 'wider' })), { status: 403, code: 9109 });
    t.match(await refusal(revokeKey(writing, token.key.id)), { status: 403, code: 9109 });
    t.match(await refusal(createZone(writing, { name: 'example.org' })), { status: 403, code: 10000 });
    const source = { text: '@ 60 SOA a b 1 2 3 4 5\n@ NS a\na A 192.0.2.1\n' };
    const file = { source, origin: 'example.net', replace: true };
    t.match(await refusal(importZone(writing, file)), { status: 403, code: 10000 });
  }
  t.ok((await listKeys(ctx)).find(({ id }) => id === key.id)?.lastUsedAt);
  clock.advance(5000);
  t.same(await authenticateToken(ctx, secret, '127.0.0.1'), { ok: false, reason: 'expired' });

  const other = await createKey(ctx, { kind: 'key', name: 'second', email: ADMIN });
  t.match(await authenticateKey(ctx, ADMIN, other.secret, '127.0.0.1'), { ok: true });
  t.match(await revokeKey(ctx, other.key.id), { status: 'disabled' });
  t.same(await authenticateKey(ctx, ADMIN, other.secret, '127.0.0.1'), { ok: false, reason: 'disabled' });
  t.match(await revokeKey(ctx, other.key.id), { status: 'disabled' }, 'again');
  t.match(await refusal(revokeKey(ctx, 'x')), { status: 404 });
  t.match(await refusal(createKey(ctx, { kind: 'key', name: '', email: ADMIN })), { status: 400 });
  t.match(await refusal(createKey(ctx, { kind: 'key', name: 'x' })), { status: 400 }, 'the operator is not a user');
  t.match(await refusal(createKey(ctx, { kind: 'key', name: 'x', email: 'nonsense' })), { status: 400 });

  const tenant = await asTenant(ctx, 'tenant');
  t.equal((await listKeys(tenant)).length, 1);
  t.match(await refusal(createKey(tenant, { kind: 'key', name: 'x', email: ADMIN })), { status: 403 });
  t.match(await refusal(revokeKey(tenant, key.id)), { status: 404 });
  t.match(await createKey(tenant, { kind: 'token', name: 'own' }), { key: { userEmail: 'tenant@example.org' } });

  const stored = ctx.store.prepareTuples<[], [string]>('SELECT hex(hash) || name FROM api_keys').all().join();
  const audited = JSON.stringify(latestEvents(ctx.store, 1000));
  for (const known of [ADMIN_KEY, secret, other.secret]) {
    t.notOk(stored.includes(known) || audited.includes(known), 'no secret is stored');
  }
});

t.test('the first administrator', async (t) => {
  const { ctx } = await startControl(t);
  await ctx.store.write(() => {
    for (const table of ['api_keys', 'memberships', 'users', 'accounts']) {
      ctx.store.prepare(`DELETE FROM ${table}`).run();
    }
  });
  t.match(await refusal(ensureFirstAdministrator(ctx, { email: ADMIN, key: 'short' })), { status: 400 });
  const { created, secret } = await ensureFirstAdministrator(ctx, { email: ADMIN });
  t.ok(created);
  t.match(secret, /^[A-Za-z0-9_-]{40}$/);
  t.match(await authenticateKey(ctx, ADMIN, secret!, '127.0.0.1'), { ok: true });
});

t.test('the number of a deleted account is not used again', async (t) => {
  const { ctx } = await startControl(t);
  const tenant = await asTenant(ctx, 'tenant');
  t.match(await refusal(deleteAccount(tenant, tenant.accountId)), { status: 403, code: 1002 });
  await deleteAccount(ctx, tenant.accountId);
  t.match(latestEvents(ctx.store, 1), [{ kind: 'account.delete' }]);
  const [deleted] = latestEvents(ctx.store, 1);
  const next = await createAccount(ctx, { name: 'next' });
  t.match(await getAccount(ctx, next.id), { name: 'next' });
  const [made] = latestEvents(ctx.store, 1);
  t.ok(made!.account! > deleted!.account!, 'its audit log is not shown to others');
});

t.test('a network is not a name of a zone: the refusal says which reverse zone it has', async (t) => {
  const { ctx } = await startControl(t);
  const refused = async (name: string): Promise<string> => {
    const { status, message } = await refusal(createZone(ctx, { name }));
    t.equal(status, 400, name);
    return message;
  };
  const ends: Readonly<Record<string, string>> = {
    '192.0.2.0/24': 'Its reverse zone is 2.0.192.in-addr.arpa.',
    ' 192.0.2.77/24 ': '192.0.2.0/24 is a network. Its reverse zone is 2.0.192.in-addr.arpa.',
    '10.0.0.0/8': 'Its reverse zone is 10.in-addr.arpa.',
    '192.0.2.7': 'Its PTR record belongs in the reverse zone 2.0.192.in-addr.arpa.',
    '2001:db8::/32': 'Its reverse zone is 8.b.d.0.1.0.0.2.ip6.arpa.',
    '2001:DB8::1': 'the reverse zone 0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa.',
    '192.0.15.0/20':
      '192.0.0.0/20 is a network without a reverse zone of its own, because the prefix of one is /8, /16 or /24. It has 16 zones of /24, the first of which is 0.0.192.in-addr.arpa.',
    '2001:db8::/33': 'It has 8 zones of /36, the first of which is 0.8.b.d.0.1.0.0.2.ip6.arpa.',
    '192.0.2.200/25':
      '192.0.2.128/25 is a part of the reverse zone 2.0.192.in-addr.arpa. It can be delegated from there with CNAME records (RFC 2317), for example to the zone 128/25.2.0.192.in-addr.arpa.',
    '192.0.2.0/33': 'its prefix is longer than 32 bits.',
    '0.0.0.0/0': 'no reverse zone is as large.',
  };
  for (const [name, end] of Object.entries(ends)) {
    const message = await refused(name);
    t.ok(message.endsWith(end), message);
  }
  const names = Object.values(ends).flatMap((end) => /(\S+\.arpa)\.$/.exec(end)?.[1] ?? []);
  t.equal(names.length, 9);
  for (const name of new Set(names)) t.equal((await createZone(ctx, { name })).name, name);
});
