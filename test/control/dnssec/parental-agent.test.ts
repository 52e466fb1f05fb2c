/** A parent zone here takes the DS records of its children from their CDS records (RFC 7344, RFC 8078). */
import t, { type Test } from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { editDnssec, getDnssec } from '../../../src/control/dnssec/delegation.js';
import { startRollover } from '../../../src/control/dnssec/rollover.js';
import { signingStatus } from '../../../src/control/dnssec/status.js';
import { parentJob } from '../../../src/control/dnssec/watch.js';
import { OPERATOR } from '../../../src/control/guard/actor.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { listHistory } from '../../../src/control/zones/history.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { createParentDsFinder } from '../../../src/resolver/parent-ds.js';
import { examinedFor } from '../../../src/warnings/asked.js';
import { examineSignedZones } from '../../../src/warnings/dnssec.js';
import { latestEvents } from '../../support/rows.js';
import { requireVerified } from '../../support/signed-copy.js';
import type { TestClock } from '../../support/test-clock.js';
import { testZoneKeys } from '../../support/zone-keys.js';
import { startControl } from '../fixture.js';

const DAY_MS = 86_400_000;

interface World {
  readonly ctx: Context;
  readonly clock: TestClock;
  readonly parentId: string;
  /** Runs the job of a zone as often as it wants to run within some seconds. Returns how often. */
  readonly look: (zoneId: string) => Promise<number>;
  /** Contents of the DS records of a name in the parent zone. */
  readonly ds: (name?: string) => Promise<string[]>;
  readonly add: (type: string, name: string, content: string) => ReturnType<typeof createRecord>;
  /** What `doctor` says of zones that are not as they should be. */
  readonly findings: () => string[];
}

async function start(t: Test): Promise<World> {
  const fixture = await startControl(t);
  const { clock } = fixture;
  const { store, settings, random, log } = fixture.ctx;
  const findParentDs = createParentDsFinder({
    own: { store, settings },
    isOffline: true,
    clock,
    egress: fixture.ctx.egress,
    upstream: { query: () => Promise.reject(new Error('nobody is asked')) },
  });
  const ctx: Context = { ...fixture.ctx, findParentDs, zoneKeys: await testZoneKeys(store, random) };
  const { id: parentId } = await createZone(ctx, { name: 'parent.test' });
  await editDnssec(ctx, parentId, { status: 'active' });
  const job = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: () => {} };
  return {
    ctx,
    clock,
    parentId,
    async look(zoneId) {
      for (let runs = 1; ; runs++) {
        const outcome = await parentJob(ctx).handler(job, zoneId);
        if ('done' in outcome || outcome.againAtMs > clock.nowMs() + 5000 || runs === 10) return runs;
        clock.advance(1000);
      }
    },
    async ds(name = 'child.parent.test') {
      const { items } = await listRecords(ctx, parentId, { types: ['DS'], perPage: 100 });
      return items.filter((item) => item.name === name).map(({ content }) => content);
    },
    add: (type, name, content) => createRecord(ctx, parentId, { type, name, content }),
    findings: () =>
      store
        .snapshot(() => examineSignedZones(examinedFor({ store, actor: OPERATOR }, settings, clock.nowUs())))
        .filter(({ verdict }) => verdict !== 'ok')
        .map(({ verdict, text, remedy }) => `${verdict} ${text} ${remedy}`),
  };
}

/** Signs the child, and waits until resolvers know its keys. */
async function startChild({ ctx, clock, look }: World): Promise<string> {
  const { id } = await createZone(ctx, { name: 'child.parent.test' });
  await editDnssec(ctx, id, { status: 'active' });
  await look(id);
  clock.advance(2 * DAY_MS);
  await look(id);
  return id;
}

const digestOf = async ({ ctx }: World, zoneId: string): Promise<string> => {
  const { key } = await getDnssec(ctx, zoneId);
  return `${key!.tag} 13 2 ${Buffer.from(key!.ds!.digest).toString('hex')}`;
};

t.test('from the first DS record through a rollover to its removal', async (t) => {
  const world = await start(t);
  const { ctx, clock, parentId, look, ds, add, findings } = world;
  await add('NS', 'child', 'ns.else.test');
  const childId = await startChild(world);
  t.same(await ds(), [], 'nothing is taken without the setting');
  t.match(await getDnssec(ctx, childId), { status: 'pending' });
  t.match(findings(), [/^warn child\.parent\.test: .* has no DS record of it.*--parental-agent on/]);
  t.match(await getDnssec(ctx, parentId), { parentalAgent: false });
  t.same((await signingStatus(ctx, childId)).parent.couldTake, { name: 'parent.test', signed: true });

  t.match(await editDnssec(ctx, parentId, { dnssec_parental_agent: true }), { parentalAgent: true });
  t.match(latestEvents(ctx.store, 1), [{ kind: 'dnssec.edit', after: '{"parental_agent":true}' }]);
  t.match((await signingStatus(ctx, childId)).parent, { takenBy: 'parent.test', couldTake: undefined });
  t.ok((await look(childId)) > 1, 'looks again at once');
  const first = await digestOf(world, childId);
  t.same(await ds(), [first]);
  t.match(await getDnssec(ctx, childId), { status: 'active' });
  t.match(latestEvents(ctx.store, 9), [{ kind: 'dnssec.edit' }, { kind: 'record.create' }]);
  const [edit] = (await listHistory(ctx, parentId, {})).items;
  t.match(edit, { kind: 'records', source: 'service', diff: { complete: true } });
  t.ok(edit!.diff.added.some((line) => line.toLowerCase().includes(` ds ${first}`)));
  requireVerified({ ctx, seq: 1, apex: 'parent.test' }, 'DS');
  t.same(findings(), []);
  t.equal(await look(childId), 1, 'nothing is to be done');

  await startRollover(ctx, childId, { role: 'ksk' });
  for (let hours = 0; hours < 200 && (await ds())[0] === first; hours++) {
    clock.advance(3_600_000);
    await look(childId);
  }
  const [second, ...more] = await ds();
  t.not(second, first);
  t.same(more, []);
  t.match(await getDnssec(ctx, childId), { status: 'active' });
  clock.advance(4 * DAY_MS);
  await look(childId);
  t.equal(second, await digestOf(world, childId), 'the new key alone');

  await editDnssec(ctx, childId, { status: 'disabled' });
  t.match(await getDnssec(ctx, childId), { status: 'pending-disabled' });
  t.match(findings(), [/^warn .* still has a DS record.*takes them by itself/]);
  await look(childId);
  t.same(await ds(), [], 'the delete form');
  t.match(await getDnssec(ctx, childId), { status: 'disabled' });
  requireVerified({ ctx, seq: 1, apex: 'parent.test' }, 'no DS');

  await editDnssec(ctx, parentId, { dnssec_parental_agent: false });
  await editDnssec(ctx, childId, { status: 'active' });
  await look(childId);
  t.same(await ds(), []);
  t.equal((await signingStatus(ctx, childId)).parent.takenBy, undefined);
});

t.test('whose DS records a parent does not take', async (t) => {
  const world = await start(t);
  const { ctx, parentId, look, ds, add, findings } = world;
  await t.rejects(
    (async () => {
      const { id } = await createZone(ctx, { name: 'unsigned.test' });
      await editDnssec(ctx, id, { dnssec_parental_agent: true });
    })(),
    { status: 400, message: /unsigned\.test is not served with signatures/ },
  );
  await editDnssec(ctx, parentId, { dnssec_parental_agent: true });
  const childId = await startChild(world);
  t.same(await ds(), [], 'a zone that is not delegated');
  t.equal((await signingStatus(ctx, childId)).parent.takenBy, undefined);
  const cut = await add('NS', 'child', 'ns.else.test');
  await look(childId);
  t.same(await ds(), [await digestOf(world, childId)]);

  // What stood there before is replaced (RFC 7344 §4).
  const { items } = await listRecords(ctx, parentId, { types: ['DS'], perPage: 100 });
  await deleteRecord(ctx, parentId, items[0]!.id);
  await add('DS', 'child', `1 13 2 ${'AB'.repeat(32)}`);
  t.match(findings(), [/^fail child\.parent\.test: the DS records at the parent point to no key/]);
  await look(childId);
  t.same(await ds(), [await digestOf(world, childId)]);

  const other = await createAccount(ctx, { name: 'other' });
  const { id: foreign } = await createZone(ctx, { name: 'foreign.parent.test', account: other.id });
  await add('NS', 'foreign', 'ns.else.test');
  await editDnssec(ctx, foreign, { status: 'active' });
  await look(foreign);
  world.clock.advance(2 * DAY_MS);
  await look(foreign);
  t.same(await ds('foreign.parent.test'), [], 'a zone of another account');
  t.match((await signingStatus(ctx, foreign)).parent, { takenBy: undefined, couldTake: undefined });
  t.match(findings(), [/^warn foreign\.parent\.test: .* has no DS record of it/]);

  await deleteRecord(ctx, parentId, (await listRecords(ctx, parentId, { types: ['DS'], perPage: 9 })).items[0]!.id);
  await deleteRecord(ctx, parentId, cut.id);
  await add('NS', 'x', 'ns.else.test');
  const { id: below } = await createZone(ctx, { name: 'below.x.parent.test' });
  await editDnssec(ctx, below, { status: 'active' });
  world.clock.advance(2 * DAY_MS);
  await look(below);
  t.same(await ds('below.x.parent.test'), [], 'a zone below another delegation');
});
