/**
 * How long one account waits beside three greedy neighbours: reads, edits, and the time until DNS answers an edit, beside each kind of
 * work, and alone; and the time of DNS answers meanwhile.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { stop } from './processes.js';
import { type ApiClient, createApiClient, environmentOf, PROGRAM, startProgram } from './program.js';
import { KINDS, type WaitsQuestion } from './shares-waits.js';
import { writeZone } from './workload.js';
import type { Figures } from './writes.js';

const MOST_TRIED = 3;
/** Clients of each. */
const CLIENTS = 8;

interface Neighbour {
  /** Path of its bucket. */
  readonly bucket: string;
  readonly zone: string;
  readonly port: number;
  /** Of this machine, from which it connects. */
  readonly address: string;
  readonly api: ApiClient;
  readonly records: string;
  readonly file: string;
}

/** What neighbours do over and over. */
const GREEDY: Readonly<Record<string, (neighbour: Neighbour, count: number) => Promise<unknown>>> = {
  'lists with 100 tags': ({ api, records }) =>
    api.call('GET', `${records}?${Array.from({ length: 100 }, (_, i) => `tag=a:${i}`).join('&')}`),
  'pages of 50 000': ({ api, records }) => api.call('GET', `${records}?per_page=50000`),
  searches: ({ api, records }, count) => api.call('GET', `${records}?search=${count}`),
  creations: ({ api, records }, count) =>
    api.call('POST', records, { type: 'A', name: `x${count}`, content: '192.0.2.7' }),
  'batches of 400': ({ api, records }, count) =>
    api.call('POST', `${records}/batch`, {
      posts: Array.from({ length: 400 }, (_, i) => ({ type: 'A', name: `b${count}-${i}`, content: '192.0.2.7' })),
    }),
  exports: ({ api, records }) => api.call('GET', `${records}/export`),
  'signing and not': ({ api, zone }, count) =>
    api.call('PATCH', `${zone}/dnssec`, { status: count % 2 === 0 ? 'active' : 'disabled' }),
  'uploads of 1 MiB': ({ api, bucket }, count) =>
    api.call('PUT', `${bucket}/objects/${count % 50}`, { text: 'x'.repeat(1 << 20) }),
  'lists of objects': ({ api, bucket }) => api.call('GET', `${bucket}/objects?per_page=1000&delimiter=/`),
  'connections that are held': holdConnections,
  'dry runs of imports': ({ api, file }, count) =>
    api.send(`/zones/import?name=dry${count}.example&dry_run=true`, 'text/plain', file),
};

/** Milliseconds; the load of the machine stands beside them. */
export async function measureShares(directory: string, names: number, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'shares-'));
  const [small, large] = [join(own, 'small.zone'), join(own, 'large.zone')];
  await writeZone(small, 100);
  await writeZone(large, names, { withOrigin: false });
  const running = await startProgram(own, small, port, undefined, { ZONEPLANE_ADMIN_RATE_LIMIT: '0' });
  const env = { ...process.env, ...environmentOf(own, port, {}) };
  const file = readFileSync(large, 'utf8');
  const neighbours: Neighbour[] = [];
  try {
    for (let i = 0; i < MOST_TRIED; i++) {
      const command = (...options: string[]) =>
        execFileSync(process.execPath, [PROGRAM, ...options], { env }).toString();
      const made = command('account', 'create', `n${i}`, '--member', `n${i}@example.org`);
      const id = /\(([0-9a-f]{32})\)/.exec(made)![1]!;
      const email = `n${i}@example.org`;
      const { secret } = JSON.parse(command('key', 'create', `n${i}`, '--email', email, '--account', id, '--json'));
      command('zone', 'import', large, '--origin', `n${i}.example`, '--account', id);
      const api = createApiClient(port + 1, secret);
      const [zone] = (await running.api.call('GET', `/zones?name=n${i}.example`)).result as { id: string }[];
      await api.call('POST', `/accounts/${id}/r2/buckets`, { name: 'greedy' });
      neighbours.push({
        ...{ api, file, port: port + 1, address: `127.0.0.${10 + i}` },
        ...{ zone: `/zones/${zone!.id}`, records: `/zones/${zone!.id}/dns_records` },
        bucket: `/accounts/${id}/r2/buckets/greedy`,
      });
    }
    const figures: Record<string, number> = { 'load of the machine at the start': loadavg()[0]! };
    const records = `${running.zonePath}/dns_records`;
    const look = async (what: string): Promise<void> => {
      Object.assign(figures, await waitsOf({ records, port, what }));
    };
    await look('alone');
    for (const [what, work] of Object.entries(GREEDY)) {
      await beside(neighbours, work, () => look(`beside ${what}`));
      // A bar of so many times as long as alone, which the load of the machine changes less than milliseconds.
      for (const kind of KINDS) {
        const [alone, waited] = [`${kind}, alone, p99 ms`, `${kind}, beside ${what}, p99 ms`];
        figures[`${kind}, beside ${what}, p99 ÷ alone`] = Math.round((figures[waited]! / figures[alone]!) * 100) / 100;
      }
    }
    return figures;
  } finally {
    for (const { api } of neighbours) api.close();
    running.api.close();
    await stop(running.server);
  }
}

/** As many as a server has for all, of which nothing comes. */
const HELD = 150;

async function holdConnections({ port, address: localAddress }: Neighbour): Promise<void> {
  const held = Array.from({ length: HELD }, () =>
    connect({ port, host: '127.0.0.1', localAddress }).on('error', () => {}),
  );
  await sleep(2000);
  for (const socket of held) socket.destroy();
}

let done = 0;

async function beside(
  neighbours: readonly Neighbour[],
  work: (neighbour: Neighbour, count: number) => Promise<unknown>,
  look: () => Promise<void>,
): Promise<void> {
  let isOver = false;
  const clients = neighbours.flatMap((neighbour) =>
    Array.from({ length: CLIENTS }, async () => {
      // Whoever waits too long is refused, and asks again.
      while (!isOver) await work(neighbour, done++).catch(() => sleep(100));
    }),
  );
  await sleep(1000);
  await look();
  isOver = true;
  await Promise.all(clients);
}

/** In a thread of its own, so that it does not wait while this one reads what the neighbours are sent. */
async function waitsOf(question: WaitsQuestion): Promise<Figures> {
  const worker = new Worker(new URL('./shares-waiter.js', import.meta.url), { workerData: question });
  const [figures] = await once(worker, 'message');
  return figures as Figures;
}
