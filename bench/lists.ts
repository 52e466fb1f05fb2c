/** Measures the time for pages of long lists: 100,000 zones, and the records of one zone of the given size. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { atOnce } from './at-once.js';
import { median } from './median.js';
import { stop } from './processes.js';
import { startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const ZONES = 100_000;
const AT_ONCE = 64;
const REPEATS = 9;

/** Milliseconds, medians; the API's answer as a whole. */
export async function measureLists(directory: string, names: number, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'lists-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const { api, server, zonePath } = await startProgram(own, zoneFile, port);
  try {
    await atOnce(AT_ONCE, ZONES, (i) => api.call('POST', '/zones', { name: `z${i}.example` }));
    const records = `${zonePath}/dns_records`;
    const lists: Readonly<Record<string, string>> = {
      [`zones, first page of ${ZONES}`]: '/zones?per_page=50',
      'zones, last page': `/zones?per_page=50&page=${ZONES / 50}`,
      'zones, by name': '/zones?name=z4711.example',
      'zones, name.contains': '/zones?name.contains=4711',
      [`records, first page of ${Math.round(names * 1.7)}`]: `${records}?per_page=100`,
      'records, page 1000': `${records}?per_page=100&page=1000`,
      'records, by name': `${records}?name=h4711.${ZONE}`,
      'records, by content': `${records}?content=10.0.18.103`,
      'records, by type': `${records}?type=CNAME`,
      'records, by type, page 1000': `${records}?type=A&per_page=100&page=1000`,
      'records, name.contains': `${records}?name.contains=4711`,
      'records, search': `${records}?search=4711`,
    };
    const figures: Record<string, number> = {};
    for (const [what, path] of Object.entries(lists))
      figures[`${what}, ms`] = await medianOf(() => api.call('GET', path));
    return figures;
  } finally {
    api.close();
    await stop(server);
  }
}

async function medianOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const began = performance.now();
    await work();
    times.push(performance.now() - began);
  }
  return median(times);
}
