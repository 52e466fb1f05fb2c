/** The index of flattened names of zones with many aliases: it follows the write that changes a whole zone, in parts. */
import t from 'tap';
import type { Clock } from '../../../src/base/clock.js';
import { flatteningIndexJob } from '../../../src/control/flatten/zone-index.js';
import { importZone } from '../../../src/control/imports/zone.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord } from '../../../src/control/records/records.js';
import { editDnsSettings } from '../../../src/control/zones/dns-settings.js';
import { deleteZone } from '../../../src/control/zones/zones.js';
import { flattenedInZone } from '../../../src/serving/flattened.js';
import { servingZone } from '../../../src/serving/zone.js';
import { openPlannedRecords } from '../../../src/store/records/past-records.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { startControl } from '../fixture.js';

const ALIASES = 300;
const HEAD = '@ 300 SOA ns1 admin 1 7200 3600 1209600 300\n@ 300 NS ns1\nns1 300 A 192.0.2.1\n';
const ALIAS_TEXT = Array.from({ length: ALIASES }, (_, i) => `c${i} 300 CNAME target${i}.example.\n`).join('');

/** Owners of the index, as text. */
function indexed({ store }: Context): string[] {
  return store
    .prepareTuples<[], [string]>('SELECT CAST(owner_key AS TEXT) FROM flatten_owners ORDER BY owner_key')
    .all()
    .map(([key]) => key.replace(/[^a-z0-9]/g, ''));
}

function jobsOf({ store }: Context): string[] {
  return store
    .prepareTuples<[], [string]>("SELECT subject FROM jobs WHERE kind = 'flattening_index'")
    .all()
    .map(([subject]) => subject);
}

/** Runs the job; each part is a write of its own. */
async function runJob(ctx: Context, subject: string, onPart: (part: number) => void = () => {}) {
  const { store, log, clock: still } = ctx;
  let passedUs = 0;
  const clock = Object.create(still, { steadyUs: { value: () => (passedUs += 10_000) } }) as Clock;
  let part = 0;
  const requireLease = (): void => onPart(++part);
  const { signal } = new AbortController();
  return flatteningIndexJob(ctx).handler({ store, clock, log, attempt: 0, signal, requireLease }, subject);
}

const sorted = (names: Iterable<string>): string[] => [...names].sort();
const ALL = sorted(Array.from({ length: ALIASES }, (_, i) => `c${i}`));

t.test('many aliases are indexed after the write that needs it', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId } = await importZone(ctx, { source: { text: HEAD + ALIAS_TEXT }, origin: 'many.test' });
  t.strictSame(indexed(ctx), [], 'none is flattened');
  const [subject] = jobsOf(ctx);
  t.strictSame(await runJob(ctx, subject!), { done: true });
  t.strictSame(indexed(ctx), []);

  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  t.strictSame(indexed(ctx), [], 'the write itself indexes none');
  await createRecord(ctx, zoneId!, { type: 'CNAME', name: 'single', content: 'elsewhere.example' });
  t.strictSame(indexed(ctx), ['single'], 'an edit of one owner does');
  t.strictSame(await runJob(ctx, subject!), { done: true });
  t.strictSame(sorted(indexed(ctx)), sorted([...ALL, 'single']));

  await importZone(ctx, { source: { text: HEAD }, origin: 'many.test', replace: true });
  t.equal(indexed(ctx).length, ALIASES + 1, 'nor does it remove very many');
  await runJob(ctx, subject!);
  t.strictSame(indexed(ctx), []);
});

t.test('a setting that changes meanwhile has it begin again', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId } = await importZone(ctx, { source: { text: HEAD + ALIAS_TEXT }, origin: 'many.test' });
  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  const [subject] = jobsOf(ctx);
  let edit: Promise<unknown> | undefined;
  const outcome = await runJob(ctx, subject!, (part) => {
    if (part === 3) edit = editDnsSettings(ctx, zoneId!, { flatten_all_cnames: false });
  });
  await edit;
  t.strictSame(outcome, { done: true });
  t.strictSame(indexed(ctx), [], 'the parts before the change, too');
});

t.test('a zone that was deleted meanwhile has no index', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId } = await importZone(ctx, { source: { text: HEAD + ALIAS_TEXT }, origin: 'many.test' });
  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  const [subject] = jobsOf(ctx);
  await runJob(ctx, subject!, (part) => {
    if (part === 2) void deleteZone(ctx, zoneId!);
  });
  t.strictSame(indexed(ctx), []);
});

t.test('a few are indexed at once', async (t) => {
  const { ctx } = await startControl(t);
  const text = `${HEAD}a 300 CNAME one.example.\nb 300 CNAME two.example.\n`;
  const { zoneId } = await importZone(ctx, { source: { text }, origin: 'few.test' });
  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  t.strictSame(indexed(ctx), ['a', 'b']);
  t.strictSame(jobsOf(ctx), []);
});

t.test('planned edits are seen before they are made', async (t) => {
  const { ctx } = await startControl(t);
  const { zoneId } = await importZone(ctx, { source: { text: HEAD + ALIAS_TEXT }, origin: 'many.test' });
  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  const row = findZoneByName(ctx.store, 'many.test')!;
  const planned = openPlannedRecords(ctx.store, row);
  t.teardown(() => planned.close());
  const { id } = ctx.store
    .prepare<[], { readonly id: Uint8Array }>("SELECT id FROM records WHERE name = 'c7.many.test'")
    .get()!;
  planned.plan([{ id, after: null }]);
  const zone = servingZone(planned.store, row, ctx.settings);
  t.equal([...flattenedInZone(planned.store, zone)].flat().length, ALIASES - 1);
});

t.test('the write that replaces a zone does not read very many flattened names', async (t) => {
  const { ctx } = await startControl(t);
  const isComplete = (): number =>
    ctx.store.prepareTuples<[], [number]>('SELECT complete FROM changes ORDER BY seq DESC LIMIT 1').get()![0];
  const replace = (text: string) => importZone(ctx, { source: { text }, origin: 'many.test', replace: true });
  // Files of this size are planned.
  const filler =
    `big 300 TXT "${'x'.repeat(200)}"\n`.repeat(1) +
    Array.from({ length: 400 }, (_, i) => `h${i} 300 A 192.0.2.1\n`).join('');
  const few = ALIAS_TEXT.split('\n').slice(0, 100).join('\n');
  const { zoneId } = await replace(`${HEAD}${filler}${few}\n`);
  await editDnsSettings(ctx, zoneId!, { flatten_all_cnames: true });
  await replace(`${HEAD}${filler}${few}\nmore 300 A 192.0.2.2\n`);
  t.equal(isComplete(), 1, 'of a few it says exactly what changed');
  await replace(`${HEAD}${filler}${ALIAS_TEXT}`);
  await replace(`${HEAD}${filler}${ALIAS_TEXT}more 300 A 192.0.2.2\n`);
  t.equal(isComplete(), 0);
});
