/** What ten open dashboards cost others who use the API: times of their requests with the pages awake and asleep, in turn. */
import type { Browser, CDPSession } from 'playwright-core';
import type { Running } from '../program.js';
import { ZONE } from '../workload.js';
import type { Figures } from '../writes.js';
import { enterProfile } from './browser.js';

const ROUNDS = 16;
/** Of each kind, in one round. */
const REQUESTS = 80;
/** The pages have settled by then. */
const CALM_MS = 700;

const OPEN = [
  '/overview',
  '/live',
  '/zones',
  `/zones/${ZONE}/records`,
  '/overview',
  `/zones/${ZONE}/live`,
  `/zones/${ZONE}/dnssec`,
  '/overview',
  '/access/log',
  `/zones/${ZONE}/hostnames`,
];

interface Measured {
  readonly browser: Browser;
  readonly origin: string;
  readonly running: Running;
}

export async function measureNeighbours({ browser, origin, running }: Measured): Promise<Figures> {
  const profile = await enterProfile(browser, origin);
  const pages = await Promise.all(
    OPEN.map(async (path): Promise<CDPSession> => {
      const page = await profile.newPage();
      await page.goto(origin + path);
      return profile.newCDPSession(page);
    }),
  );
  const times = {
    asleep: { read: [] as number[], write: [] as number[] },
    awake: { read: [] as number[], write: [] as number[] },
  };
  for (let round = 0; round < ROUNDS * 2; round++) {
    const kind = round % 4 === 0 || round % 4 === 3 ? 'asleep' : 'awake';
    const state = kind === 'asleep' ? 'frozen' : 'active';
    await Promise.all(pages.map((session) => session.send('Page.setWebLifecycleState', { state })));
    await new Promise((resolve) => setTimeout(resolve, CALM_MS));
    await useApi(running, times[kind].read, times[kind].write);
  }
  await profile.close();
  const { asleep, awake } = times;
  return {
    'p99 of reads without dashboards, ms': percentile(asleep.read, 0.99),
    'p99 of reads with ten dashboards, ms': percentile(awake.read, 0.99),
    'p99 of writes without dashboards, ms': percentile(asleep.write, 0.99),
    'p99 of writes with ten dashboards, ms': percentile(awake.write, 0.99),
    'p99 of reads, with by without': percentile(awake.read, 0.99) / percentile(asleep.read, 0.99),
    'p99 of writes, with by without': percentile(awake.write, 0.99) / percentile(asleep.write, 0.99),
  };
}

/** One reader and writer, one request after the other. */
async function useApi({ api, zonePath }: Running, read: number[], write: number[]): Promise<void> {
  const list = `${zonePath}/dns_records`;
  const [record] = (await api.call('GET', `${list}?name=h7.${ZONE}&type=A`)).result as { readonly id: string }[];
  for (let i = 0; i < REQUESTS; i++) {
    const began = performance.now();
    await api.call('GET', `${list}?page=${1 + i}&per_page=100`);
    const between = performance.now();
    read.push(between - began);
    await api.call('PATCH', `${list}/${record!.id}`, { comment: `change ${i}` });
    write.push(performance.now() - between);
  }
}

function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
