/** A start on a full disk: what is stored is answered, and writing begins when there is room. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';
import { until } from '../support/until.js';

const KEY = 'e2e-key-0123456789-0123456789-0123456789';
const ZONE = `$ORIGIN example.com.
$TTL 300
@ SOA ns.example.net. h.example.net. 7 3600 600 86400 60
@ NS ns.example.net.
www A 192.0.2.10
`;

/** Fills what is left of the file system, to the last octet. */
function fill(file: string): void {
  for (const octets of [65_536, 4096, 512, 1]) {
    try {
      for (;;) writeFileSync(file, Buffer.alloc(octets), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  }
}

async function address({ dnsPort }: Program): Promise<string | undefined> {
  const dns = createUpstream({
    servers: [{ host: '127.0.0.1', port: dnsPort }],
    clock: new SystemClock(),
    timeoutMs: 500,
  });
  return (await dns.query('www.example.com', 'A')).records[0]?.content;
}

const create = ({ api }: Program) =>
  fetch(`${api}/client/v4/zones`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    body: JSON.stringify({ name: 'new.example.com' }),
  });

for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
  t.test(`after ${signal}, everything comes back on a full disk`, { skip: skipWithoutMounts }, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'zoneplane-full-'));
    const data = join(directory, 'data');
    const filler = join(data, 'filler');
    t.ok(mountSmall(data, 24));
    t.teardown(() => {
      unmount(data);
      rmSync(directory, { recursive: true, force: true });
    });
    mkdirSync(join(directory, 'zones'));
    writeFileSync(join(directory, 'zones', 'example.com.zone'), ZONE);
    const options = { directory, key: KEY, detached: true };
    await stopProgram(await startProgram(options), signal);
    fill(filler);
    const program = await startProgram({ ...options, said: '"msg":"zoneplane starts"' });
    t.teardown(() => stopProgram(program, 'SIGKILL'));
    await until(async () => (await address(program)) === '192.0.2.10');
    await until(async () => (await fetch(`${program.api}/livez`).catch(() => undefined))?.status === 200 || undefined);
    await until(async () => (await create(program)).status === 507);
    t.equal(await address(program), '192.0.2.10', 'it still answers after a change was refused');
    t.equal(program.child.exitCode, null);
    rmSync(filler);
    await until(async () => (await create(program)).status === 200);
    t.ok(existsSync(join(data, 'zoneplane.db')));
  });
}
