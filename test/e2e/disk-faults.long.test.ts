/** The database cannot be read while the server runs: the DNS process goes on with what it has loaded, says so, and tries again. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { spawnCommand } from '../support/commands.js';
import { childOf, type Program, startProgram, stopProgram } from '../support/program.js';
import { injectInto, skipWithoutStrace } from '../support/strace.js';
import { transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

const KEY = 'e2e-key-0123456789-0123456789-0123456789';
const ZONE = `$ORIGIN example.com.
$TTL 300
@ SOA ns.example.net. h.example.net. 7 3600 600 86400 60
@ NS ns.example.net.
www A 192.0.2.10
`;

async function address({ dnsPort }: Program, name: string): Promise<string | undefined> {
  const servers = [{ host: '127.0.0.1', port: dnsPort }];
  const dns = createUpstream({ servers, clock: new SystemClock(), timeoutMs: 10_000 });
  return (await dns.query(name, 'A')).records[0]?.content;
}

async function call({ api }: Program, path: string, body?: unknown): Promise<Response> {
  return fetch(`${api}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${KEY}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
}

t.test('read errors of the database', { skip: skipWithoutStrace }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-reads-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(join(directory, 'zones', 'example.com.zone'), ZONE);
  const environment = { ZONEPLANE_TRANSFER_ALLOW: '127.0.0.1/32' };
  const program = await startProgram({ directory, key: KEY, detached: true, environment });
  t.teardown(async () => {
    await stopProgram(program, 'SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  });
  const dns = childOf(program.child.pid!, 'dns')!;
  const { result } = (await (await call(program, '/client/v4/zones')).json()) as { result: { id: string }[] };
  const records = `/client/v4/zones/${result[0]!.id}/dns_records`;
  const database = join(directory, 'data', 'zoneplane.db');
  const ends = await injectInto(dns, { path: [database, `${database}-wal`], inject: 'pread64:error=EIO' });
  for (let i = 0; i < 5; i++) {
    const made = await call(program, records, { type: 'A', name: `n${i}.example.com`, content: '192.0.2.20' });
    t.equal(made.status, 200);
  }
  await until(async () => (await call(program, '/readyz')).status === 503);
  t.match(await (await call(program, '/readyz')).json(), { reason: 'the DNS process cannot follow the change log' });
  t.equal(await address(program, 'www.example.com'), '192.0.2.10', 'what is loaded is answered');
  t.match(await transfer(program.dnsPort, parseName('example.com.')), { rcode: 2 }, 'a transfer is SERVFAIL');
  const doctor = await spawnCommand({ ZONEPLANE_DATA_DIR: join(directory, 'data') }, ['doctor']);
  t.match(doctor, { code: 1, out: /answered 503: the DNS process cannot follow the change log/ });
  t.match(program.printed(), /the change log could not be followed, serving what is loaded/);
  await ends();
  await until(async () => (await address(program, 'n4.example.com')) === '192.0.2.20', 'the changes are published');
  await until(async () => (await call(program, '/readyz')).status === 200);
  t.equal(childOf(program.child.pid!, 'dns'), dns, 'the same process');
});
