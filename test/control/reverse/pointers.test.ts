/** PTR records that are kept for A and AAAA records: through the use cases, on two copies of the database. */
import t, { type Test } from 'tap';
import { fromHex } from '../../../src/base/bytes.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { exportZone } from '../../../src/control/records/export.js';
import {
  applyBatch,
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
  type RecordInput,
  replaceRecord,
} from '../../../src/control/records/records.js';
import { POINTERS_JOB, pointersJob } from '../../../src/control/reverse/job.js';
import { applyUpdate, type UpdateRequest } from '../../../src/control/updates/update.js';
import { createZone, deleteZone } from '../../../src/control/zones/zones.js';
import { parseName } from '../../../src/dns/name.js';
import { parseRdata } from '../../../src/dns/rr/registry.js';
import { insertAccount } from '../../../src/store/access/accounts.js';
import { listJobs } from '../../../src/store/jobs.js';
import { insertTsigKey, tsigKeysOfAccount } from '../../../src/store/secondary/tsig-keys.js';
import { findZoneById } from '../../../src/store/zones/zones.js';
import { countTurns } from '../../support/turns.js';
import { refusal, startZone } from '../fixture.js';

const V4 = '2.0.192.in-addr.arpa';
const V6 = '8.b.d.0.1.0.0.2.ip6.arpa';

async function start(t: Test) {
  const fixture = await startZone(t);
  const { ctx, zoneId } = fixture;
  const reverse = await createZone(ctx, { name: V4 });
  const shown = async (zone: string): Promise<string[]> => {
    const { items } = await listRecords(ctx, zone, { types: ['PTR'], perPage: 1000 });
    return items.map(({ name, content, ptr }) => `${name.split('.')[0]} ${content}${ptr ? ' kept' : ''}`).sort();
  };
  const add = (input: RecordInput) => createRecord(ctx, zoneId, { type: 'A', ptr: true, ...input });
  /** What the schedule would do. */
  const runJob = async (of: Context = ctx): Promise<boolean> => {
    const { store, clock, log } = ctx;
    const planned = listJobs(store, 100).filter(({ kind }) => kind === POINTERS_JOB);
    const lease = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
    for (const { subject } of planned) await pointersJob(of).handler(lease, subject);
    return planned.length > 0;
  };
  return { ...fixture, reverseId: reverse.id, shown, add, runJob };
}

t.test('a PTR record comes, follows and goes with its address, in the same write', async (t) => {
  const { ctx, zoneId, reverseId, shown, add } = await start(t);
  const www = await add({ name: 'www', content: '192.0.2.1', ttl: 600 });
  t.strictSame(await shown(reverseId), ['1 www.example.com kept']);
  const [pointer] = (await listRecords(ctx, reverseId, { types: ['PTR'] })).items;
  t.match(pointer, { ttl: 600, counterpart: { status: 'kept', zoneId, recordId: www.id }, settings: {} });
  t.match(await getRecord(ctx, zoneId, www.id), {
    ptr: true,
    counterpart: { status: 'kept', zoneId: reverseId, recordId: pointer!.id },
  });
  await editRecord(ctx, zoneId, www.id, { content: '192.0.2.2' });
  t.strictSame(await shown(reverseId), ['2 www.example.com kept'], 'another address');
  await editRecord(ctx, zoneId, www.id, { name: 'web' });
  t.strictSame(await shown(reverseId), ['2 web.example.com kept'], 'another name');
  await editRecord(ctx, zoneId, www.id, { comment: 'moved' });
  t.strictSame(await shown(reverseId), ['2 web.example.com kept'], 'nothing that matters');
  await editRecord(ctx, zoneId, www.id, { content: '198.51.100.1' });
  t.strictSame(await shown(reverseId), [], 'an address in no zone of ours');
  t.match((await getRecord(ctx, zoneId, www.id)).counterpart, { status: 'no-zone', zoneId: undefined });
  await editRecord(ctx, zoneId, www.id, { content: '192.0.2.3' });
  await editRecord(ctx, zoneId, www.id, { ptr: false });
  t.strictSame(await shown(reverseId), []);
  await editRecord(ctx, zoneId, www.id, { ptr: true });
  t.strictSame(await shown(reverseId), ['3 web.example.com kept']);
  await replaceRecord(ctx, zoneId, www.id, { type: 'A', name: 'web', content: '192.0.2.3' });
  t.strictSame(await shown(reverseId), [], 'PUT returns what is absent to its default');
  await editRecord(ctx, zoneId, www.id, { ptr: true });
  await deleteRecord(ctx, zoneId, www.id);
  t.strictSame(await shown(reverseId), []);
});

t.test('IPv6, several names of an address, and batches', async (t) => {
  const { ctx, zoneId, reverseId, shown, add, runJob } = await start(t);
  const v6 = await createZone(ctx, { name: V6 });
  await add({ type: 'AAAA', name: 'v6', content: '2001:db8::a1' });
  t.strictSame(await shown(v6.id), ['1 v6.example.com kept']);
  const [pointer] = (await listRecords(ctx, v6.id, { types: ['PTR'] })).items;
  t.equal(pointer!.name, `1.a.${'0.'.repeat(22)}${V6}`);
  const one = await add({ name: 'one', content: '192.0.2.9' });
  await add({ name: 'two', content: '192.0.2.9' });
  t.strictSame(await shown(reverseId), ['9 one.example.com kept', '9 two.example.com kept']);
  await deleteRecord(ctx, zoneId, one.id);
  t.strictSame(await shown(reverseId), ['9 two.example.com kept']);
  for (const size of [3, 210]) {
    const posts = Array.from({ length: size }, (_, i) => {
      return { type: 'A', name: `b${size}-${i}`, content: `192.0.2.${i % 250}`, ptr: true };
    });
    const before = (await shown(reverseId)).length;
    const { posts: made } = await applyBatch(ctx, zoneId, { posts });
    t.equal(await runJob(), size > 50, 'very many are followed by a job');
    if (size > 50) t.ok((await countTurns(() => runJob())) >= 4, 'others have their turns while it looks at all');
    t.equal((await shown(reverseId)).length, before + size, `${size} at once`);
    await applyBatch(ctx, zoneId, { deletes: made.map(({ id }) => ({ id })) });
    if (size > 50) await runJob();
    t.equal((await shown(reverseId)).length, before);
  }
});

t.test('a full reverse zone does not hold up others', async (t) => {
  const { ctx, zoneId, reverseId, shown, runJob } = await start(t);
  const v6 = await createZone(ctx, { name: V6 });
  const posts = Array.from({ length: 210 }, (_, i) => {
    const place = i < 105 ? { type: 'A', content: `192.0.2.${i}` } : { type: 'AAAA', content: `2001:db8::${i}` };
    return { ...place, name: `b${i}`, ptr: true };
  });
  await applyBatch(ctx, zoneId, { posts });
  const limits = { ...ctx.settings.limits, recordsPerZone: 20 };
  t.ok(await runJob({ ...ctx, settings: { ...ctx.settings, limits } }));
  t.strictSame([(await shown(reverseId)).length, (await shown(v6.id)).length], [20, 20]);
});

t.test('nobody’s own record is touched, and whoever edits a kept one takes it over', async (t) => {
  const { ctx, zoneId, reverseId, shown, add } = await start(t);
  const own = await createRecord(ctx, reverseId, { type: 'PTR', name: '1', content: 'own.example.com' });
  const www = await add({ name: 'www', content: '192.0.2.1' });
  t.strictSame(await shown(reverseId), ['1 own.example.com']);
  t.match((await getRecord(ctx, zoneId, www.id)).counterpart, { status: 'other-record' });
  await deleteRecord(ctx, zoneId, www.id);
  t.strictSame(await shown(reverseId), ['1 own.example.com'], 'a deletion, either');
  await deleteRecord(ctx, reverseId, own.id);

  const taken = await add({ name: 'taken', content: '192.0.2.4' });
  const [kept] = (await listRecords(ctx, reverseId, { types: ['PTR'] })).items;
  await editRecord(ctx, reverseId, kept!.id, { ttl: 900, comment: 'still kept' });
  t.strictSame(await shown(reverseId), ['4 taken.example.com kept']);
  await editRecord(ctx, reverseId, kept!.id, { content: 'other.example.com', ptr: true });
  t.strictSame(await shown(reverseId), ['4 other.example.com'], 'another name is its editor’s');
  t.equal((await getRecord(ctx, zoneId, taken.id)).ptr, undefined, 'and the address has none that is kept');
  await editRecord(ctx, zoneId, taken.id, { content: '192.0.2.5' });
  t.strictSame(await shown(reverseId), ['4 other.example.com']);

  const gone = await add({ name: 'gone', content: '192.0.2.6' });
  const found = (await listRecords(ctx, reverseId, { name: { exact: `6.${V4}` } })).items[0]!;
  await deleteRecord(ctx, reverseId, found.id);
  t.equal((await getRecord(ctx, zoneId, gone.id)).ptr, undefined, 'deleted on the side of the PTR record');
});

t.test('what can have none', async (t) => {
  const { ctx, zoneId, reverseId, add, shown } = await start(t);
  const reason = async (attempt: Promise<unknown>): Promise<string> => JSON.stringify(await refusal(attempt));
  t.match(await reason(add({ type: 'TXT', name: 'a', content: 'x' })), /ptr is for A and AAAA records/);
  t.match(await reason(add({ name: '*', content: '192.0.2.1' })), /wildcards/);
  t.match(await reason(add({ name: 'a', content: '192.0.2.1', proxied: true })), /proxied/);
  const pointer = { type: 'PTR', name: '1', content: 'a.example.com', ptr: true };
  t.match(await reason(createRecord(ctx, reverseId, pointer)), /ptr is for A/);
  const a = await add({ name: 'a', content: '203.0.113.1' });
  t.match(await reason(editRecord(ctx, zoneId, a.id, { proxied: true })), /proxied/);
  await createRecord(ctx, reverseId, { type: 'NS', name: '7', content: 'ns.elsewhere.test' });
  await add({ name: 'b', content: '192.0.2.7' });
  t.strictSame(await shown(reverseId), [], 'below a delegation');
});

t.test('other accounts and narrow credentials', async (t) => {
  const { ctx, zoneId, reverseId, shown, add } = await start(t);
  const other = ctx.random.bytes(16);
  await ctx.store.write(() =>
    insertAccount(ctx.store, { id: other, name: 'other', type: 'standard', created_at: ctx.clock.nowUs() }),
  );
  const theirs = await createZone(ctx, { name: 'other.test', account: Buffer.from(other).toString('hex') });
  await createRecord(ctx, theirs.id, { type: 'A', name: '@', content: '192.0.2.8', ptr: true });
  t.strictSame(await shown(reverseId), [], 'the reverse zone is another account’s');

  const www = await add({ name: 'www', content: '192.0.2.1' });
  const narrow: Context = {
    ...ctx,
    actor: { ...ctx.actor, recordScopes: [{ names: ['www.example.com', 'new.example.com'] }] },
  };
  await editRecord(narrow, zoneId, www.id, { content: '192.0.2.2' });
  t.strictSame(await shown(reverseId), ['2 www.example.com kept'], 'who may edit the address moves the PTR record');
  const early = await createRecord(narrow, zoneId, { type: 'A', name: 'new', content: '198.51.100.9', ptr: true });
  t.match(await refusal(editRecord(narrow, zoneId, early.id, { content: '192.0.2.9' })), { status: 403 });
  t.strictSame(await shown(reverseId), ['2 www.example.com kept'], 'but brings none into a zone that is not theirs');
});

t.test('a dynamic update of the address', async (t) => {
  const { ctx, zoneId, reverseId, shown, add } = await start(t);
  const { store } = ctx;
  const { account } = findZoneById(store, fromHex(zoneId)!)!;
  const values = {
    name: 'k.',
    key_name: parseName('k.'),
    algorithm: 'hmac-sha256',
    secret: new Uint8Array(8),
    policies: null,
  };
  await store.write(() => insertTsigKey(store, ctx.random.bytes(16), account, values, ctx.clock.nowUs()));
  const key = tsigKeysOfAccount(store, account)[0]!.seq;
  let last = 0;
  const send = (updates: UpdateRequest['updates']) =>
    applyUpdate({ ...ctx, actor: { ...ctx.actor, kind: 'tsig' }, source: 'update' }, zoneId, {
      prerequisites: [],
      updates,
      signed: { key, mac: Uint8Array.of(++last), expiresAt: Math.floor(ctx.clock.nowMs() / 1000) + 300 },
    });
  const owner = parseName('host.example.com.');
  const remove = { owner, type: 1, class: 255, ttl: 0, rdata: new Uint8Array(0) };
  const address = (text: string) => ({ owner, type: 1, class: 1, ttl: 60, rdata: parseRdata(1, text, owner) });
  await add({ name: 'host', content: '192.0.2.1' });
  await send([remove, address('192.0.2.2')]);
  t.strictSame(await shown(reverseId), ['2 host.example.com kept'], 'it replaces the record, and `ptr` stays');
  await send([remove]);
  t.strictSame(await shown(reverseId), []);
});

t.test('zones that come, go and are replaced', async (t) => {
  const { ctx, zoneId, reverseId, shown, add, runJob } = await start(t);
  await add({ name: 'www', content: '192.0.2.1' });
  await add({ name: 'far', content: '203.0.113.9' });
  const far = await createZone(ctx, { name: '113.0.203.in-addr.arpa' });
  t.ok(await runJob());
  t.strictSame(await shown(far.id), ['9 far.example.com kept'], 'a reverse zone that comes later');

  let text = '';
  for await (const part of exportZone(ctx, zoneId, 'bind')) text += part;
  t.match(text, /www\.example\.com\.\t\d+\tIN\tA\t192\.0\.2\.1 ; cf_tags=cf-proxied:false,ptr\n/);
  const less = text.replace(/^far.*\n/m, '').replace('192.0.2.1 ;', '192.0.2.11 ;');
  t.ok((await importZone(ctx, { source: { text: less }, origin: 'example.com', replace: true })).imported);
  await runJob();
  t.strictSame(await shown(reverseId), ['11 www.example.com kept'], 'a replaced zone');
  t.strictSame(await shown(far.id), []);
  await importZone(ctx, { source: { text: '@ 60 SOA a b 1 2 3 4 5\n@ 60 NS a.test.\n' }, origin: V4, replace: true });
  await runJob();
  t.strictSame(await shown(reverseId), ['11 www.example.com kept'], 'a replaced reverse zone');
  await deleteZone(ctx, zoneId);
  await runJob();
  t.strictSame(await shown(reverseId), [], 'and a zone that goes takes its PTR records with it');
});
