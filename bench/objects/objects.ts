/** Objects of buckets through every door beside nginx; DNS while objects are stored; large objects, lists, and uploads in parts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { makePair } from '../edge-servers.js';
import { askWhile, named } from '../latency.js';
import { stop } from '../processes.js';
import { dataDirectoryOf, startProgram } from '../program.js';
import { writeZone } from '../workload.js';
import type { Figures } from '../writes.js';
import { type Door, doorOf, doorsOf, portsOf, prepareBucket, settingsOf } from './doors.js';
import { measureLarge } from './large.js';
import { measureCompletion, measureLists } from './many.js';
import { type Nginx, startNginx } from './nginx.js';
import { type Asker, createAsker } from './signed.js';
import { measureSmall, nameOf, SIZES } from './small.js';

export const OBJECT_SECTIONS = ['small', 'dns', 'large', 'lists', 'parts'] as const;

const SERVER_CPU = availableParallelism() > 1 ? 0 : undefined;
const UPLOAD_OCTETS = 64 << 20;

export interface ObjectBenchOptions {
  readonly rounds: number;
  /** Of {@link OBJECT_SECTIONS}. */
  readonly sections: readonly string[];
}

/** Ports from `port` on. */
export async function measureObjects(directory: string, port: number, options: ObjectBenchOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'objects-'));
  const ports = portsOf(port);
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const pair = makePair(own, ['localhost']);
  const tls = { ZONEPLANE_TLS_CERT: pair.certificate, ZONEPLANE_TLS_KEY: pair.key };
  const settings = { ...settingsOf(ports, Object.keys(SIZES).map(nameOf)), ...tls };
  const running = await startProgram(own, zoneFile, port, SERVER_CPU, settings);
  const figures: Record<string, number> = {};
  const wants = (section: (typeof OBJECT_SECTIONS)[number]): boolean => options.sections.includes(section);
  let nginx: Nginx | undefined;
  let unsynced: Nginx | undefined;
  let asker: Asker | undefined;
  try {
    const { account, key } = await prepareBucket(running, own, ports);
    nginx = await startNginx(own, ports.nginx, ports.nginxTls, SERVER_CPU ?? 0);
    const doors = doorsOf(ports, account, key);
    if (wants('small')) {
      const neighbour = { door: doorOf(nginx), server: nginx };
      const small = { directory: own, rounds: options.rounds, ours: running.server, nginx: neighbour, doors };
      Object.assign(figures, await measureSmall(small));
    }
    if (wants('dns')) Object.assign(figures, await measureDns(own, ports.dns, [doorOf(nginx), doors[0]!, doors[2]!]));
    const ours = running.server;
    if (wants('large')) {
      // With a sync of every piece, nginx takes minutes, and gives up.
      unsynced = await startNginx(own, ports.unsynced, ports.unsyncedTls, SERVER_CPU ?? 0, false);
      const large = { directory: own, rounds: options.rounds, ours, nginx: unsynced, ports, key };
      Object.assign(figures, await measureLarge(large));
    }
    asker = createAsker(ports.s3, key, 16);
    if (wants('lists')) Object.assign(figures, await measureLists(dataDirectoryOf(own), ours, asker));
    if (wants('parts')) Object.assign(figures, await measureCompletion(ours, asker));
    return figures;
  } finally {
    asker?.close();
    running.api.close();
    await stop(running.server);
    for (const server of [nginx, unsynced]) if (server) await stop(server);
  }
}

/** DNS while the disk is busy with uploads. The machine's share in it: the same octets to nginx. */
async function measureDns(directory: string, port: number, doors: readonly Door[]): Promise<Record<string, number>> {
  const file = join(directory, 'upload');
  writeFileSync(file, Buffer.alloc(UPLOAD_OCTETS, 'zoneplane'));
  const figures = named('DNS idle', await askWhile(port, async () => {}));
  for (const door of doors) {
    const times = await askWhile(port, () => uploadApart(file, door));
    Object.assign(figures, named(`DNS, 64 MiB uploads: ${door.name}`, times));
  }
  return figures;
}

/** In another process, so that questions are asked on time. */
async function uploadApart(file: string, door: Door): Promise<void> {
  const headers = [...door.fields, 'Expect:'].flatMap((field) => ['-H', field]);
  const curl = spawn('curl', ['-sf', '-o', '/dev/null', ...headers, '-T', file, door.urlOf('PUT', 'upload')]);
  const [status] = await once(curl, 'exit');
  if (status !== 0) throw new Error(`curl ended with ${status}`);
}
