/**
 * How long one account waits beside three greedy neighbours: reads, edits, and the time until DNS answers an edit, beside each kind of
 * work, and alone; and the time of DNS answers meanwhile.
 */
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { cpuSeconds, stop } from './processes.js';
import { environmentOf, startProgram } from './program.js';
import { createNeighbour, GREEDY, type GreedyWork, type Neighbour } from './shares-greedy.js';
import { SILENT, startSilentPeers } from './shares-silent.js';
import { KINDS, type WaitsQuestion } from './shares-waits.js';
import { writeZone } from './workload.js';
import type { Figures } from './writes.js';

const NEIGHBOURS = 3;
/** Clients of each. */
const CLIENTS = 8;

export interface SharesOptions {
  readonly directory: string;
  readonly names: number;
  readonly port: number;
  readonly sections: readonly string[];
}

/** What neighbours can do. */
export const GREEDY_WORK: Readonly<Record<string, GreedyWork>> = { ...GREEDY, ...SILENT };

/** Milliseconds; the load of the machine stands beside them. `sections`: what neighbours do, of {@link GREEDY_WORK}. */
export async function measureShares({ directory, names, port, sections }: SharesOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'shares-'));
  const [small, large] = [join(own, 'small.zone'), join(own, 'large.zone')];
  await writeZone(small, 100);
  await writeZone(large, names, { withOrigin: false });
  const s3Port = port + 2;
  const peers = await startSilentPeers();
  const running = await startProgram(own, small, port, undefined, {
    ...{ ZONEPLANE_ADMIN_RATE_LIMIT: '0', ZONEPLANE_S3: 'on', ZONEPLANE_S3_PORT: String(s3Port) },
    ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8',
    ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${peers.datagrams}`,
    ...{ ZONEPLANE_SMTP: `smtp://127.0.0.1:${peers.silent}`, ZONEPLANE_PUBLIC_URL: `http://127.0.0.1:${port + 1}` },
  });
  const zones = {
    ...{ zoneFile: large, file: readFileSync(large, 'utf8') },
    env: { ...process.env, ...environmentOf(own, port, {}) },
  };
  const neighbours: Neighbour[] = [];
  try {
    for (let number = 0; number < NEIGHBOURS; number++) {
      neighbours.push(await createNeighbour(running, { number, port: port + 1, s3Port, peers }, zones));
    }
    const figures: Record<string, number> = { 'load of the machine at the start': loadavg()[0]! };
    const records = `${running.zonePath}/dns_records`;
    const look = async (what: string): Promise<void> => {
      const [cpu, beganMs] = [cpuSeconds(running.server), performance.now()];
      Object.assign(figures, await waitsOf({ records, port, what }));
      const used = (cpuSeconds(running.server) - cpu) / ((performance.now() - beganMs) / 1000);
      figures[`processors that the server uses, ${what}`] = Math.round(used * 100) / 100;
    };
    await look('alone');
    for (const what of sections) {
      const work = GREEDY_WORK[what]!;
      for (const neighbour of neighbours) await work.prepare?.(neighbour);
      Object.assign(figures, await beside(neighbours, work.run, what, () => look(`beside ${what}`)));
      // A bar of so many times as long as alone, which the load of the machine changes less than milliseconds.
      for (const kind of KINDS) {
        const [alone, waited] = [`${kind}, alone, p99 ms`, `${kind}, beside ${what}, p99 ms`];
        figures[`${kind}, beside ${what}, p99 ÷ alone`] = Math.round((figures[waited]! / figures[alone]!) * 100) / 100;
      }
    }
    return figures;
  } finally {
    for (const { api, s3 } of neighbours) {
      api.close();
      s3.close();
    }
    running.api.close();
    peers.close();
    await stop(running.server);
  }
}

let done = 0;

async function beside(
  neighbours: readonly Neighbour[],
  work: GreedyWork['run'],
  what: string,
  look: () => Promise<void>,
): Promise<Figures> {
  let isOver = false;
  const began = done;
  let refused = 0;
  const clients = neighbours.flatMap((neighbour) =>
    Array.from({ length: CLIENTS }, async () => {
      // Whoever waits too long is refused, and asks again.
      while (!isOver) await work(neighbour, done++).catch(() => sleep(100).then(() => refused++));
    }),
  );
  await sleep(1000);
  await look();
  isOver = true;
  await Promise.all(clients);
  return { [`requests of neighbours, ${what}`]: done - began, [`refused of them, ${what}`]: refused };
}

/** In a thread of its own, so that it does not wait while this one reads what the neighbours are sent. */
async function waitsOf(question: WaitsQuestion): Promise<Figures> {
  const worker = new Worker(new URL('./shares-waiter.js', import.meta.url), { workerData: question });
  const [figures] = await once(worker, 'message');
  return figures as Figures;
}
