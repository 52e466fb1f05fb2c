/** What creating records costs in a signed zone, beside the same in an unsigned one of the same program, in turn. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { atOnce } from './at-once.js';
import { median } from './median.js';
import { stop } from './processes.js';
import { type Running, startProgram } from './program.js';
import { writeZone } from './workload.js';
import type { Figures } from './writes.js';

interface Way {
  readonly name: string;
  /** Records that exist afterwards. */
  create(running: Running, zonePath: string, prefix: string): Promise<number>;
}

const WAYS: readonly Way[] = [
  { name: 'one at a time', create: (running, path, prefix) => createAtOnce(running, path, prefix, 1, 100) },
  { name: '50 at once', create: (running, path, prefix) => createAtOnce(running, path, prefix, 50, 500) },
  { name: 'batches of 1000', create: createBatch },
];

/** Creations a second in both zones, and the time in the signed zone divided by that in the other, round by round. */
export async function measureSignedCreations(directory: string, port: number, rounds: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'signed-creations-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 100);
  const running = await startProgram(own, zoneFile, port);
  try {
    const plain = await createZone(running, 'plain.test');
    const signed = await createZone(running, 'signed.test');
    await running.api.call('PATCH', `${signed}/dnssec`, { status: 'active' });
    const figures: Record<string, number> = {};
    for (const way of WAYS) {
      const times = { plain: [] as number[], signed: [] as number[], ratio: [] as number[] };
      for (let round = -1; round < rounds; round++) {
        const prefix = `${way.name.replaceAll(' ', '-')}-${round + 1}`;
        const one = await secondsOf(way, running, plain, prefix);
        const other = await secondsOf(way, running, signed, prefix);
        if (round < 0) continue;
        times.plain.push(one);
        times.signed.push(other);
        times.ratio.push(other / one);
      }
      figures[`ms a record, ${way.name}, unsigned`] = median(times.plain) * 1000;
      figures[`ms a record, ${way.name}, signed`] = median(times.signed) * 1000;
      figures[`signed/unsigned, ${way.name}`] = median(times.ratio);
    }
    return figures;
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

async function createZone({ api }: Running, name: string): Promise<string> {
  const { result: accounts } = await api.call('GET', '/accounts');
  const account = { id: (accounts as { id: string }[])[0]!.id };
  const { result } = await api.call('POST', '/zones', { name, account });
  return `/zones/${(result as { id: string }).id}`;
}

async function secondsOf(way: Way, running: Running, path: string, prefix: string): Promise<number> {
  const began = performance.now();
  const records = await way.create(running, path, prefix);
  return (performance.now() - began) / 1000 / records;
}

async function createAtOnce(
  { api }: Running,
  path: string,
  prefix: string,
  places: number,
  count: number,
): Promise<number> {
  await atOnce(places, count, (i) => {
    const body = { type: 'A', name: `${prefix}-${i}`, content: `198.51.100.${i & 255}`, ttl: 60 };
    return api.call('POST', `${path}/dns_records`, body);
  });
  return count;
}

async function createBatch({ api }: Running, path: string, prefix: string): Promise<number> {
  const posts = Array.from({ length: 1000 }, (_, i) => {
    return { type: 'A', name: `${prefix}-${i}`, content: `203.0.113.${i % 250}`, ttl: 60 };
  });
  await api.call('POST', `${path}/dns_records/batch`, { posts });
  return posts.length;
}
