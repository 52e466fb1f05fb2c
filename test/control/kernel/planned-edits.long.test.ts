/** Large edits of a zone: planned and stored aside, then made at once. */
import t from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { editDnssec } from '../../../src/control/dnssec/delegation.js';
import { importRecords } from '../../../src/control/imports/records.js';
import { FEW_EDITS } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { MOST_TRIED } from '../../../src/control/kernel/staged-edits.js';
import type { WriteOutcome } from '../../../src/control/kernel/zone-outcome.js';
import { applyBatch, type BatchInput } from '../../../src/control/records/batch.js';
import { createRecord, getRecord, listRecords } from '../../../src/control/records/records.js';
import { listHistory, readAsOf, restoreZone } from '../../../src/control/zones/history.js';
import { createZone, getZone } from '../../../src/control/zones/zones.js';
import { ownerText } from '../../../src/serving/difference.js';
import { findDnssecZone, updateDnssecZone } from '../../../src/store/dnssec/zones.js';
import { openStore } from '../../../src/store/driver.js';
import { LogUnavailable } from '../../../src/store/failures.js';
import { nextJobAt } from '../../../src/store/jobs.js';
import { lastChange } from '../../../src/store/log/changes.js';
import { countRecordsEditedAfter, editsOfZone, recordsEditedAfter } from '../../../src/store/log/edits.js';
import { recordsOfZone } from '../../../src/store/records/records.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { checkLog, type FollowedZone, served } from '../../support/followed-zone.js';
import { requireVerified } from '../../support/signed-copy.js';
import { enableSigning } from '../../support/signing.js';
import { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const MANY = FEW_EDITS + 50;

async function addZone(ctx: Context, apex: string): Promise<FollowedZone> {
  await createZone(ctx, { name: apex });
  return follow(ctx, apex);
}

function follow(ctx: Context, apex: string): FollowedZone {
  const { seq, id } = findZoneByName(ctx.store, apex)!;
  const world = { ctx, zoneId: toHex(id), seq, apex, copy: new Map<string, string[]>(), seen: lastChange(ctx.store) };
  for (const [key, lines] of served(world)) world.copy.set(key, lines);
  return world;
}

function addresses(prefix: string, count: number, from = 0): { type: string; name: string; content: string }[] {
  return Array.from({ length: count }, (_, i) => {
    return { type: 'A', name: `${prefix}${from + i}`, content: `192.0.${(i >> 8) & 255}.${i & 255}` };
  });
}

/** Name, type, TTL, content and comment of all records. */
function contentOf(ctx: Context, seq: number, apex: string): string[] {
  return [...recordsOfZone(ctx.store, seq)]
    .map(({ name, type, ttl, content, comment }) => `${name} ${type} ${ttl} ${content} ${comment}`)
    .map((line) => line.replaceAll(apex, 'zone'))
    .sort();
}

/** All records with their identifiers. */
function rowsOf(ctx: Context, seq: number): string[] {
  return [...recordsOfZone(ctx.store, seq)].map(
    ({ id, name, content, ttl }) => `${toHex(id)} ${name} ${ttl} ${content}`,
  );
}

async function refusal(attempt: Promise<unknown>): Promise<unknown> {
  return attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
}

/** Sets of records that no zone has, and edits of the journal that belong to no zone. */
function leftovers({ store }: Context): unknown {
  const rows = store.prepareTuples<[], [number]>(
    `SELECT (SELECT count(*) FROM record_sets WHERE state = 'staged') + (SELECT count(*) FROM zone_edits WHERE zone = 0)
       + (SELECT count(*) FROM edited_records WHERE edit NOT IN (SELECT seq FROM zone_edits))`,
  );
  return rows.get()![0];
}

/** Deletions, changes and additions that depend on each other. */
async function mixedBatch(ctx: Context, zoneId: string): Promise<BatchInput> {
  const { items } = await listRecords(ctx, zoneId, { perPage: 1000 });
  const idOf = (prefix: string): string[] => items.filter(({ name }) => name.startsWith(prefix)).map(({ id }) => id);
  return {
    deletes: idOf('d').map((id) => ({ id })),
    patches: [
      ...idOf('p').map((id, i) => ({ id, ttl: 120, comment: `number ${i}` })),
      // The same record again.
      { id: idOf('p')[0]!, content: '198.51.100.1' },
    ],
    puts: idOf('u').map((id, i) => ({ id, type: 'A', name: `v${i}`, content: `203.0.113.${i}` })),
    posts: [
      // In the place of deleted ones.
      ...addresses('d', 20),
      { type: 'CNAME', name: 'd30', content: 'elsewhere.test' },
      ...addresses('n', 100),
    ],
  };
}

t.test('a planned batch does what a short one does, and can be undone', async (t) => {
  const { ctx } = await startControl(t);
  const worlds = [await addZone(ctx, 'planned.test'), await addZone(ctx, 'short.test')] as const;
  for (const { zoneId } of worlds) {
    for (const prefix of ['d', 'p', 'u']) await applyBatch(ctx, zoneId, { posts: addresses(prefix, 60) });
  }
  for (const world of worlds) Object.assign(world, follow(ctx, world.apex));
  const [planned, short] = worlds;
  const before = rowsOf(ctx, planned.seq);
  const { version } = await getZone(ctx, planned.zoneId);
  const batch = await mixedBatch(ctx, planned.zoneId);
  const done = await applyBatch(ctx, planned.zoneId, batch);
  t.equal(done.posts.length, batch.posts!.length);
  const { deletes, patches, puts, posts } = await mixedBatch(ctx, short.zoneId);
  await applyBatch(ctx, short.zoneId, { deletes, patches });
  await applyBatch(ctx, short.zoneId, { puts, posts });
  t.same(contentOf(ctx, planned.seq, planned.apex), contentOf(ctx, short.seq, short.apex), 'as in two requests');
  for (const world of worlds) {
    checkLog(world);
    t.equal((await getZone(ctx, world.zoneId)).recordCount, rowsOf(ctx, world.seq).length);
  }
  t.equal((await getZone(ctx, planned.zoneId)).version, version + 1, 'one edit');
  const [edit] = (await listHistory(ctx, planned.zoneId, {})).items;
  t.match(edit, { version: version + 1, kind: 'records', diff: { complete: true } });
  t.equal(leftovers(ctx), 0);
  const past = await readAsOf(ctx, planned.zoneId, `version:${version}`, (then) => rowsOf(then, planned.seq));
  t.same(past.sort(), [...before].sort(), 'the state before can be read');
  const after = rowsOf(ctx, planned.seq).sort();
  // Twice, so that identifiers of removed rows come back.
  for (let round = 0; round < 2; round++) {
    await restoreZone(ctx, planned.zoneId, `version:${version}`);
    t.same(rowsOf(ctx, planned.seq).sort(), [...before].sort(), 'restored with the same identifiers');
    checkLog(planned);
    await restoreZone(ctx, planned.zoneId, `version:${version + 1}`);
    t.same(rowsOf(ctx, planned.seq).sort(), after, 'and back');
  }
  const counted = editsOfZone(ctx.store, planned.seq, 100, 0).map(({ seq }) => [
    countRecordsEditedAfter(ctx.store, planned.seq, seq),
    [...recordsEditedAfter(ctx.store, planned.seq, seq)].length,
  ]);
  t.ok(counted.length > 7);
  for (const [count, length] of counted) t.equal(count, length);
  t.equal(leftovers(ctx), 0);
});

t.test('others write while a large edit is planned, and nothing of theirs is lost', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId, seq, apex } = await addZone(ctx, 'busy.test');
  const order: string[] = [];
  const text = addresses('i', 2000)
    .map(({ name, content }) => `${name} 300 A ${content}`)
    .join('\n');
  const large = importRecords(ctx, zoneId, text, {}).then((result) => {
    order.push('import');
    return result;
  });
  await createZone(ctx, { name: 'other.test' }).then(() => order.push('zone'));
  // One of its names, which the import then finds taken.
  await createRecord(ctx, zoneId, { type: 'A', name: 'i7', content: '192.0.0.7', ttl: 60 }).then(() =>
    order.push('record'),
  );
  const result = await large;
  t.same(order, ['zone', 'record', 'import']);
  t.match(result, { added: 1999, parsed: 2000, leftOut: [{ line: 8 }] });
  t.equal(contentOf(ctx, seq, apex).filter((line) => line.startsWith('i7.zone ')).length, 1);
  t.match(contentOf(ctx, seq, apex), [/^i0\.zone 1 300 192/]);
  t.equal((await getZone(ctx, zoneId)).recordCount, 2000);
  t.equal(leftovers(ctx), 0);
});

/** A clock that says that a slice is over whenever it is asked. */
class HastyClock extends TestClock {
  override steadyUs(): number {
    this.advance(20);
    return super.steadyUs();
  }
}

t.test('others write while a large edit is tried, and it shows what the edit then does', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId, seq } = await addZone(ctx, 'tried.test');
  for (const prefix of ['d', 'p', 'u']) await applyBatch(ctx, zoneId, { posts: addresses(prefix, 60) });
  const batch = await mixedBatch(ctx, zoneId);
  const before = rowsOf(ctx, seq);
  const run = async (dryRun: boolean, clock = ctx.clock): Promise<unknown> => {
    const outcome: WriteOutcome = { zones: [] };
    const done = await applyBatch({ ...ctx, clock, dryRun, outcome }, zoneId, batch);
    const counts = Object.values(done).map((items: readonly unknown[]) => items.length);
    const [{ rrs, complete, serialFrom, serial } = {} as never] = outcome.zones;
    const lines = rrs
      .map(({ op, owner_key: key, type, ttl, rdata }) => `${op} ${ownerText(key)} ${type} ${ttl} ${toHex(rdata)}`)
      .sort();
    return { counts, lines, complete, serialFrom, serial };
  };
  const order: string[] = [];
  const tried = run(true, new HastyClock(ctx.clock.nowMs())).then((result) => {
    order.push('tried');
    return result;
  });
  await createZone(ctx, { name: 'other.test' }).then(() => order.push('zone'));
  const shown = await tried;
  t.same(order, ['zone', 'tried']);
  t.same(rowsOf(ctx, seq), before);
  t.same(await run(false), shown);
});

t.test('a large edit that is only tried writes nothing', async (t) => {
  const { ctx, directory } = await startControl(t);
  const { zoneId, seq } = await addZone(ctx, 'tried.test');
  await applyBatch(ctx, zoneId, { posts: addresses('n', MANY) });
  const { version } = await getZone(ctx, zoneId);
  const { items } = await listRecords(ctx, zoneId, { perPage: 1000 });
  await applyBatch(ctx, zoneId, { deletes: items });
  const text = addresses('i', MANY)
    .map(({ name, content }) => `${name} 300 A ${content}`)
    .join('\n');
  const watch = openStore(directory, { readonly: true });
  t.teardown(() => watch.close());
  const written = watch.dataVersion();
  const dry = { ...ctx, dryRun: true };
  await applyBatch(dry, zoneId, { posts: addresses('n', MANY) });
  await importRecords(dry, zoneId, text, {});
  await restoreZone(dry, zoneId, `version:${version}`);
  t.equal(watch.dataVersion(), written, 'no other process sees a write');
  t.same(rowsOf(ctx, seq), []);
  await restoreZone(ctx, zoneId, `version:${version}`);
  t.not(watch.dataVersion(), written, 'which it would');
});

t.test('a large edit that fails, or is only tried, leaves nothing', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId, seq } = await addZone(ctx, 'failing.test');
  const { version } = await getZone(ctx, zoneId);
  const posts = [...addresses('n', MANY), { type: 'A', name: 'bad', content: 'no address' }];
  t.match(await refusal(applyBatch(ctx, zoneId, { posts })), { pointer: `/posts/${MANY}/content` });
  const twice = [...addresses('n', MANY), ...addresses('n', 1)];
  t.match(await refusal(applyBatch(ctx, zoneId, { posts: twice })), { pointer: `/posts/${MANY}` });
  await applyBatch({ ...ctx, dryRun: true }, zoneId, { posts: addresses('n', MANY) });
  const text = addresses('i', MOST_TRIED + 1)
    .map(({ name, content }) => `${name} 300 A ${content}`)
    .join('\n');
  t.match(await importRecords({ ...ctx, dryRun: true }, zoneId, text, {}), { added: MOST_TRIED + 1 });
  const stale = { ...ctx, precondition: { ifMatch: ['"another"'] } };
  t.match(await refusal(applyBatch(stale, zoneId, { posts: addresses('n', MANY) })), { status: 412 });
  t.same(rowsOf(ctx, seq), []);
  t.equal((await getZone(ctx, zoneId)).version, version);
  t.equal(leftovers(ctx), 0);
});

t.test('a large edit of a signed zone is signed', async (t) => {
  const { ctx: plain } = await startControl(t);
  const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
  const world = await addZone(ctx, 'signed.test');
  await enableSigning(ctx, world.zoneId);
  Object.assign(world, follow(ctx, world.apex));
  const from = (await getZone(ctx, world.zoneId)).version;
  await applyBatch(ctx, world.zoneId, { posts: addresses('n', MANY) });
  requireVerified(world, 'after a large edit');
  checkLog(world);
  await restoreZone(ctx, world.zoneId, `version:${from}`);
  requireVerified(world, 'after a large edit');
  checkLog(world);
  t.same(rowsOf(ctx, world.seq), []);
});

/** So many that they are signed before the write. */
const VERY_MANY = 1100;

async function addSignedZone(ctx: Context, apex: string, denial: 'nsec' | 'nsec3'): Promise<FollowedZone> {
  const { zoneId } = await addZone(ctx, apex);
  await applyBatch(ctx, zoneId, {
    posts: [
      ...addresses('first', 30),
      { type: 'CNAME', name: 'alias', content: 'first1.elsewhere.test' },
      { type: 'A', name: 'below.cut', content: '192.0.2.1' },
    ],
  });
  await enableSigning(ctx, zoneId);
  if (denial === 'nsec3') await editDnssec(ctx, zoneId, { denial });
  return follow(ctx, apex);
}

const signatureSetOf = ({ store }: Context, { seq }: FollowedZone): number => findDnssecZone(store, seq)!.signature_set;

for (const denial of ['nsec', 'nsec3'] as const) {
  t.test(`very many edits of a signed zone are signed before the write: ${denial}`, async (t) => {
    const { ctx: plain } = await startControl(t);
    const zoneKeys = await testZoneKeys(plain.store, plain.random);
    let meanwhile: (() => Promise<unknown>) | undefined;
    let made = 0;
    const sign: typeof zoneKeys.threads.sign = async (orders) => {
      made += orders.length;
      const others = meanwhile;
      meanwhile = undefined;
      await others?.();
      return zoneKeys.threads.sign(orders);
    };
    const ctx: Context = { ...plain, zoneKeys: { ...zoneKeys, threads: { ...zoneKeys.threads, sign } } };
    const world = await addSignedZone(ctx, 'signed.test', denial);
    const check = (when: string): void => {
      checkLog(world);
      requireVerified(world, when);
      t.equal(leftovers(ctx), 0, when);
    };
    const { version } = await getZone(ctx, world.zoneId);
    const before = rowsOf(ctx, world.seq).sort();
    const set = signatureSetOf(ctx, world);
    const posts = [
      ...addresses('n', VERY_MANY),
      { type: 'NS', name: 'cut', content: 'ns.else.test' },
      { type: 'CNAME', name: 'other', content: 'elsewhere.test' },
    ];
    await applyBatch(ctx, world.zoneId, { posts });
    t.not(signatureSetOf(ctx, world), set, 'the zone gets the new signatures at once');
    check('a batch');
    t.match((await listHistory(ctx, world.zoneId, {})).items[0], { kind: 'records', diff: { complete: true } });
    const after = rowsOf(ctx, world.seq).sort();

    // A record that comes meanwhile stays; the signatures that fit are not made again.
    made = 0;
    meanwhile = () => createRecord(ctx, world.zoneId, { type: 'A', name: 'late', content: '192.0.2.9' });
    const { items } = await listRecords(ctx, world.zoneId, { perPage: 2000 });
    const patches = items.filter(({ name }) => /^n\d/.test(name)).map(({ id }) => ({ id, ttl: 120 }));
    await applyBatch(ctx, world.zoneId, { patches });
    check('a record came meanwhile');
    t.ok(contentOf(ctx, world.seq, world.apex).some((line) => line.startsWith('late.zone ')));
    t.ok(made >= VERY_MANY && made < VERY_MANY + 50, `${made} signatures: each once`);

    await restoreZone(ctx, world.zoneId, `version:${version}`);
    check('restored');
    t.same(rowsOf(ctx, world.seq).sort(), before, 'restored with the same identifiers');
    await restoreZone(ctx, world.zoneId, `version:${version + 1}`);
    check('and back');
    t.same(rowsOf(ctx, world.seq).sort(), after);
    const [edit] = (await listHistory(ctx, world.zoneId, {})).items;
    t.match(edit, { kind: 'records', diff: { complete: true } });
  });
}

for (const denial of ['nsec', 'nsec3'] as const) {
  t.test(`edits of a signed zone store what was signed before the write: ${denial}`, async (t) => {
    const { ctx: plain } = await startControl(t);
    const zoneKeys = await testZoneKeys(plain.store, plain.random);
    let meanwhile: (() => Promise<unknown>) | undefined;
    let plans = 0;
    const sign: typeof zoneKeys.threads.sign = async (orders) => {
      plans++;
      const others = meanwhile;
      meanwhile = undefined;
      await others?.();
      return zoneKeys.threads.sign(orders);
    };
    const ctx: Context = { ...plain, zoneKeys: { ...zoneKeys, threads: { ...zoneKeys.threads, sign } } };
    const world = await addSignedZone(ctx, 'signed.test', denial);
    const { zoneId, seq, apex } = world;
    const set = signatureSetOf(ctx, world);
    const check = async (when: string, wanted: number): Promise<void> => {
      checkLog(world);
      requireVerified(world, when);
      t.equal(leftovers(ctx), 0, when);
      t.equal(plans, wanted, `${when}: plans`);
      plans = 0;
      t.equal(signatureSetOf(ctx, world), set, 'the zone keeps its set of signatures');
      t.match((await listHistory(ctx, zoneId, {})).items[0], { kind: 'records', diff: { complete: true } });
    };
    const idsOf = async (pattern: RegExp): Promise<string[]> => {
      const { items } = await listRecords(ctx, zoneId, { perPage: 1000 });
      return items.filter(({ name, type }) => pattern.test(`${type} ${name}`)).map(({ id }) => id);
    };
    const { version } = await getZone(ctx, zoneId);
    const before = rowsOf(ctx, seq).sort();
    plans = 0;
    await applyBatch(ctx, zoneId, {
      posts: [
        // Before all other names, among them, and below each other.
        ...addresses('a', MANY / 2),
        ...addresses('n', MANY),
        ...addresses('deep.n1.x', 20),
        { type: 'A', name: '*.wild', content: '192.0.2.7' },
        { type: 'TXT', name: '@', content: '"at the apex"' },
        { type: 'CNAME', name: 'other', content: 'elsewhere.test' },
        { type: 'NS', name: 'cut', content: 'ns.else.test' },
      ],
    });
    await check('additions', 1);
    const after = rowsOf(ctx, seq).sort();

    // Neighbours that come meanwhile, and names that they hide.
    meanwhile = () => createRecord(ctx, zoneId, { type: 'A', name: 'n10x', content: '192.0.2.9' });
    const patches = (await idsOf(/^A n\d\d\./)).map((id) => ({ id, ttl: 120 }));
    const deletes = (await idsOf(/^(A (a\d+|first\d|.*deep.*)|NS cut|CNAME alias)\./)).map((id) => ({ id }));
    await applyBatch(ctx, zoneId, { patches, deletes });
    await check('changes and deletions', 2);
    t.equal(contentOf(ctx, seq, apex).filter((line) => line.startsWith('n10x.zone ')).length, 1);

    await restoreZone(ctx, zoneId, `version:${version}`);
    await check('restored', 1);
    t.same(rowsOf(ctx, seq).sort(), before);
    await restoreZone(ctx, zoneId, `version:${version + 1}`);
    await check('and back', 1);
    t.same(rowsOf(ctx, seq).sort(), after);

    // The kind of denial changes before the write: what was made does not fit.
    meanwhile = async () => {
      await editDnssec(ctx, zoneId, { denial: denial === 'nsec' ? 'nsec3' : 'nsec' });
      Object.assign(world, follow(ctx, apex));
    };
    await applyBatch(ctx, zoneId, { posts: addresses('late', MANY) });
    requireVerified(world, 'the denial changed meanwhile');
    checkLog(world);
    plans = 0;
    meanwhile = () => ctx.store.write(() => updateDnssecZone(ctx.store, seq, { walk: new Uint8Array(0) }));
    await applyBatch(ctx, zoneId, { posts: addresses('last', MANY) });
    t.equal(plans, 2, 'all is to be signed anew, which has no serial');
    requireVerified(world, 'signing anew began meanwhile');
    checkLog(world);
  });
}

for (const [kind, many] of [
  ['unsigned', MANY],
  ['signed', MANY],
  ['signed', VERY_MANY],
] as const) {
  t.test(`linked records change owners that ${many} edits change, too: ${kind}`, async (t) => {
    const { ctx: plain } = await startControl(t);
    const ctx = { ...plain, zoneKeys: await testZoneKeys(plain.store, plain.random) };
    const world = await addZone(ctx, '2.0.192.in-addr.arpa');
    const { zoneId, apex, seq } = world;
    if (kind === 'signed') await enableSigning(ctx, zoneId);
    Object.assign(world, follow(ctx, apex));
    const check = (when: string): void => {
      checkLog(world);
      if (kind === 'signed') requireVerified(world, when);
      t.equal(leftovers(ctx), 0, when);
    };
    const text = (name: string) => ({ type: 'TXT', name, content: '"of the same batch"' });
    const host = { type: 'A', name: 'host', content: '192.0.2.7', ptr: true };
    await applyBatch(ctx, zoneId, { posts: [...addresses('n', many), text('7'), host] });
    check('the PTR record comes where a record is added');
    const find = async (type: string): Promise<string> => {
      const { items } = await listRecords(ctx, zoneId, { types: [type], perPage: 100 });
      return items.find(({ ptr }) => ptr)!.id;
    };
    const patches = [{ id: await find('PTR'), ttl: 120 }];
    await applyBatch(ctx, zoneId, { posts: [...addresses('m', many), text('host')], patches });
    check('the address of a PTR record is set free where a record is added');
    t.equal(contentOf(ctx, seq, apex).filter((line) => line.includes('of the same batch')).length, 2);
  });
}

t.test('a very large edit gives the zone another set, and keeps what it does not touch', async (t) => {
  const { ctx } = await startControl(t);
  const world = await addZone(ctx, 'large.test');
  await applyBatch(ctx, world.zoneId, { posts: addresses('kept', 300).map((post) => ({ ...post, comment: 'mine' })) });
  const setOf = (): number => findZoneByName(ctx.store, world.apex)!.record_set;
  const { version: few } = await getZone(ctx, world.zoneId);
  const kept = rowsOf(ctx, world.seq);
  let set = setOf();
  const check = (when: string): void => {
    t.not(setOf(), set, `${when}: another set`);
    set = setOf();
    checkLog(world);
    t.equal(leftovers(ctx), 0, when);
    t.equal(findZoneByName(ctx.store, world.apex)!.record_count, rowsOf(ctx, world.seq).length, when);
    const rows = contentOf(ctx, world.seq, world.apex).filter((line) => line.endsWith(' mine'));
    t.equal(rows.length, 300, when);
  };
  await applyBatch(ctx, world.zoneId, { posts: addresses('n', VERY_MANY) });
  check('additions');
  const many = rowsOf(ctx, world.seq);
  const { items } = await listRecords(ctx, world.zoneId, { perPage: 2000 });
  const ids = items.filter(({ name }) => name.startsWith('n')).map(({ id }) => id);
  await applyBatch(ctx, world.zoneId, { patches: ids.map((id) => ({ id, ttl: 120 })) });
  check('changes');
  t.same(
    rowsOf(ctx, world.seq).map((row) => row.replace(' 120 ', ' 1 ')),
    many,
    'the same records',
  );
  await restoreZone(ctx, world.zoneId, `version:${few}`);
  check('a restoration');
  t.same(rowsOf(ctx, world.seq), kept);
  // Rows with the same identifiers still wait for their removal.
  await restoreZone(ctx, world.zoneId, `version:${few + 1}`);
  check('and back');
  t.same(rowsOf(ctx, world.seq), many);
  const [record] = items;
  t.match(
    await getRecord(ctx, world.zoneId, record!.id),
    { id: record!.id, ttl: 1 },
    'the row of the zone, not an older one',
  );
  // Others of the set are kept while a part is changed.
  await applyBatch({ ...ctx, dryRun: true }, world.zoneId, { deletes: ids.map((id) => ({ id })) });
  t.equal(setOf(), set, 'a dry run changes nothing');
  t.equal(leftovers(ctx), 0);
});

t.test('very many edits of a signed zone that are refused, or whose signatures fail, leave nothing', async (t) => {
  const { ctx: plain } = await startControl(t);
  const zoneKeys = await testZoneKeys(plain.store, plain.random);
  const ctx: Context = { ...plain, zoneKeys };
  const world = await addSignedZone(ctx, 'signed.test', 'nsec');
  const before = rowsOf(ctx, world.seq);
  const posts = addresses('n', VERY_MANY);
  const cut = { type: 'NS', name: '*.wild', content: 'ns.else.test' };
  t.match(await refusal(applyBatch(ctx, world.zoneId, { posts: [...posts, cut] })), { message: /wildcard/ });
  t.equal(leftovers(ctx), 0);
  const failing: Context = {
    ...ctx,
    zoneKeys: {
      ...zoneKeys,
      threads: { ...zoneKeys.threads, sign: () => Promise.reject(new Error('a thread ended')) },
    },
  };
  t.match(await refusal(applyBatch(failing, world.zoneId, { posts })), { message: /a thread ended/ });
  t.same(rowsOf(ctx, world.seq), before);
  requireVerified(world, 'nothing happened');
  t.ok(nextJobAt(ctx.store, 'unused_records')! <= ctx.clock.nowMs() + 600_000, 'what was staged will be removed');
});

t.test('a store that takes no writes is 503 with Retry-After at every step, asked once', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId, seq } = await addZone(ctx, 'away.test');
  const { store } = ctx;
  const write = store.write.bind(store);
  t.teardown(() => Object.assign(store, { write }));
  for (let step = 1; ; step++) {
    let asked = 0;
    const failing: typeof write = (work) =>
      ++asked < step ? write(work) : Promise.reject(new LogUnavailable('PostgreSQL is away'));
    Object.assign(store, { write: failing });
    const refused = await refusal(applyBatch(ctx, zoneId, { posts: addresses('a', MANY) }));
    Object.assign(store, { write });
    if (!refused) break;
    t.match(refused, { status: 503, retryAfterSeconds: Number }, `write ${step}`);
    t.equal(asked, step);
    t.equal([...recordsOfZone(store, seq)].length, 0);
    if (step > 50) throw new Error('it is never done');
  }
  t.equal([...recordsOfZone(store, seq)].length, MANY);
});
