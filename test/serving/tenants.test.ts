/**
 * What one account has proven is not changed by anything that others claim (docs/tenants.md). Random sequences of claims,
 * withdrawals and proofs happen in two worlds: in one, several accounts do what they like; in the other, only A does what it
 * does in the first. After each step, everything about each name that A has proven is the same in both.
 *
 * ZONEPLANE_TENANT_SEQUENCES says how many, ZONEPLANE_TENANT_SEED which is the first. 8 000 others were last run on 2026-11-27.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import type { Sequences, SequencesDone } from './tenant-sequences.js';
import type { WorldOptions } from './tenant-world.js';

const SEQUENCES = Number(process.env['ZONEPLANE_TENANT_SEQUENCES'] ?? 120);
const SEED = Number(process.env['ZONEPLANE_TENANT_SEED'] ?? 20_261_127);

const pool = (count: number): string[] => Array.from({ length: count }, (_, i) => `ns${i + 1}.dns.test`);

const OPTIONS: readonly WorldOptions[] = [
  { accounts: ['a', 'b'], activation: 'trust', nameServers: pool(1) },
  { accounts: ['a', 'b', 'c'], activation: 'auto', nameServers: pool(2) },
  { accounts: ['b', 'a'], activation: 'trust', nameServers: pool(4) },
  { accounts: ['a', 'b', 'c', 'd'], activation: 'auto', nameServers: pool(4) },
];

async function runApart(workerData: Sequences): Promise<SequencesDone> {
  const worker = new Worker(new URL('./tenant-sequences.js', import.meta.url), { workerData, execArgv: [] });
  const [done] = (await once(worker, 'message')) as [SequencesDone];
  await worker.terminate();
  return done;
}

t.test('what A has proven is what it is without the others', { timeout: 7_200_000 }, async (t) => {
  t.comment(`ZONEPLANE_TENANT_SEED=${SEED} ZONEPLANE_TENANT_SEQUENCES=${SEQUENCES}`);
  const seeds = Array.from({ length: SEQUENCES }, (_, i) => SEED + i);
  const done = await Promise.all(
    OPTIONS.map((options, i) => runApart({ options, seeds: seeds.filter((seed) => seed % OPTIONS.length === i) })),
  );
  for (const [i, { failure }] of done.entries()) t.equal(failure, undefined, JSON.stringify(OPTIONS[i]));
  const compared = done.reduce((sum, { compared: some }) => sum + some, 0);
  t.ok(compared > SEQUENCES * 2, `${compared} proven names were compared`);
});
