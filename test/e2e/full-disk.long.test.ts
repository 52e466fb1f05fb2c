/** A start on a full disk: what is stored is answered, and writing begins when there is room. */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { fill, mountSmall, skipWithoutMounts, unmount } from '../support/small-disk.js';
import { until } from '../support/until.js';

const KEY = 'e2e-key-0123456789-0123456789-0123456789';
const ZONE = `$ORIGIN example.com.
$TTL 300
@ SOA ns.example.net. h.example.net. 7 3600 600 86400 60
@ NS ns.example.net.
www A 192.0.2.10
`;

async function address({ dnsPort }: Program): Promise<string | undefined> {
  const dns = createUpstream({
    servers: [{ host: '127.0.0.1', port: dnsPort }],
    clock: new SystemClock(),
    timeoutMs: 5000,
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

/** A result of the API, or a list of them. */
type Item = { readonly id: string } & readonly { readonly id: string }[];

t.test('on a disk that others fill, everybody can delete', { skip: skipWithoutMounts }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-full-'));
  const data = join(directory, 'data');
  t.ok(mountSmall(data, 32));
  const program = await startProgram({ directory, key: KEY, detached: true });
  t.teardown(async () => {
    await stopProgram(program, 'SIGKILL');
    unmount(data);
    rmSync(directory, { recursive: true, force: true });
  });
  const call = async (method: string, path: string, body?: unknown): Promise<{ status: number; result: Item }> => {
    const response = await fetch(`${program.api}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}` },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const { result } = (await response.json()) as { result: Item };
    return { status: response.status, result };
  };
  await until(() => existsSync(join(data, 'spare')) || undefined);
  const account = (await call('GET', '/accounts')).result[0]!.id;
  const objects = `/accounts/${account}/r2/buckets/large/objects`;
  await call('POST', `/accounts/${account}/r2/buckets`, { name: 'large' });
  for (const key of ['small', 'large'])
    t.equal((await call('PUT', `${objects}/${key}`, key.repeat(key === 'small' ? 1 : 50_000))).status, 200);
  const zones = await Promise.all(
    Array.from({ length: 4 }, async (_, i) => (await call('POST', '/zones', { name: `z${i}.example.com` })).result.id),
  );
  const posts = Array.from({ length: 90 }, (_, i) => ({ type: 'TXT', name: `n${i}`, content: `"${'x'.repeat(200)}"` }));
  for (const zone of zones) await call('POST', `/zones/${zone}/dns_records/batch`, { posts });

  fill(join(data, 'filler'));
  const deleting: [path: string, status: number][] = [];
  for (const zone of zones) {
    const path = `/zones/${zone}`;
    deleting.push([path, (await call('DELETE', path)).status]);
  }
  for (const key of ['small', 'large']) deleting.push([key, (await call('DELETE', `${objects}/${key}`)).status]);
  t.same(
    deleting.filter(([, status]) => status !== 200),
    [],
  );
  // How much is free is looked at every second.
  await until(async () => (await call('PUT', `${objects}/new`, 'x'.repeat(100))).status === 507);
  t.equal((await call('POST', '/zones', { name: 'more.example.com' })).status, 507);
  rmSync(join(data, 'filler'));
  await until(async () => (await call('POST', '/zones', { name: 'new.example.com' })).status === 200);
});
