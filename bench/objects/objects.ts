/** Objects of buckets through every door beside nginx; DNS while objects are stored; large objects, lists, and uploads in parts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { askWhile, named } from '../latency.js';
import { stop } from '../processes.js';
import { startProgram } from '../program.js';
import { writeZone } from '../workload.js';
import type { Figures } from '../writes.js';
import { doorOf, doorsOf, portsOf, prepareBucket, SECRET, settingsOf } from './doors.js';
import { type Nginx, startNginx } from './nginx.js';
import { measureSmall, nameOf, SIZES } from './small.js';

export const OBJECT_SECTIONS = ['small', 'dns'] as const;

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
  const running = await startProgram(
    own,
    zoneFile,
    port,
    SERVER_CPU,
    settingsOf(ports, Object.keys(SIZES).map(nameOf)),
  );
  const figures: Record<string, number> = {};
  const wants = (section: (typeof OBJECT_SECTIONS)[number]): boolean => options.sections.includes(section);
  let nginx: Nginx | undefined;
  try {
    const { account, key } = await prepareBucket(running, own, ports);
    nginx = await startNginx(own, ports.nginx, ports.nginxTls, SERVER_CPU ?? 0);
    if (wants('small')) {
      const doors = doorsOf(ports, account, key);
      const neighbour = { door: doorOf(nginx), server: nginx };
      const small = { directory: own, rounds: options.rounds, ours: running.server, nginx: neighbour, doors };
      Object.assign(figures, await measureSmall(small));
    }
    if (wants('dns')) Object.assign(figures, await measureDns(own, ports));
    return figures;
  } finally {
    running.api.close();
    await stop(running.server);
    if (nginx) await stop(nginx);
  }
}

/** DNS while the disk is busy with uploads. The machine's share in it: the same octets to nginx. */
async function measureDns(directory: string, ports: ReturnType<typeof portsOf>): Promise<Record<string, number>> {
  const file = join(directory, 'upload');
  writeFileSync(file, Buffer.alloc(UPLOAD_OCTETS, 'zoneplane'));
  const idle = await askWhile(ports.dns, async () => {});
  const elsewhere = await askWhile(ports.dns, () => uploadApart(file, ports.nginx));
  const here = await askWhile(ports.dns, () => uploadApart(file, ports.application));
  return {
    ...named('DNS idle', idle),
    ...named('DNS, 64 MiB uploads to nginx', elsewhere),
    ...named('DNS, 64 MiB uploads to ours', here),
  };
}

/** In another process, so that questions are asked on time. */
async function uploadApart(file: string, port: number): Promise<void> {
  const headers = ['-H', `X-Custom-Auth-Key: ${SECRET}`, '-H', 'Expect:'];
  const curl = spawn('curl', ['-sf', '-o', '/dev/null', ...headers, '-T', file, `http://127.0.0.1:${port}/upload`]);
  const [status] = await once(curl, 'exit');
  if (status !== 0) throw new Error(`curl ended with ${status}`);
}
