/**
 * A customer whose names are served elsewhere: Unbound is the resolver, and has the customer's zone. The hostname waits
 * until the CNAME and the TXT record that the client was told appear there.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Cloudflare from 'cloudflare';
import t from 'tap';
import { parseName } from '../../../src/dns/name.js';
import { freePort } from '../../support/free-ports.js';
import { makeQuery } from '../../support/message.js';
import { startProgram, stopProgram } from '../../support/program.js';
import { askAll } from '../../support/reference-servers.js';
import { until } from '../../support/until.js';

const UNBOUND = '/usr/sbin/unbound';
const skip = existsSync(UNBOUND) || process.env['CI'] === 'true' ? false : 'not installed: unbound';
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const HOST = 'app.customer.test';

t.test("the customer's CNAME and TXT records appear in Unbound", { skip, timeout: 300_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-elsewhere-'));
  const [dnsPort, port] = [await freePort(), await freePort()];
  const customer = join(directory, 'customer.conf');
  const setRecords = (...lines: readonly string[]): void => {
    const data = lines.map((line) => `local-data: '${line}'\n`).join('');
    writeFileSync(customer, `server:\nlocal-zone: "customer.test." static\n${data}`);
  };
  setRecords();
  const configuration = join(directory, 'unbound.conf');
  writeFileSync(
    configuration,
    `server:
  interface: 127.0.0.1@${port}
  username: ""
  chroot: ""
  directory: "${directory}"
  pidfile: ""
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "test." static
  local-zone: "saas.test." transparent
include: "${customer}"
stub-zone:
  name: "saas.test."
  stub-addr: 127.0.0.1@${dnsPort}
remote-control:
  control-enable: no
`,
  );
  const unbound: ChildProcess = spawn(UNBOUND, ['-c', configuration], { stdio: 'ignore' });
  t.teardown(async () => {
    if (unbound.exitCode === null && unbound.kill('SIGKILL')) await once(unbound, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  const question = makeQuery(parseName('customer.test.'), 6, { flags: 0x0100 });
  await until(async () => (await askAll(port, [question], 1000, 1))[0] !== undefined);
  const program = await startProgram({
    directory,
    key: KEY,
    environment: { ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${port}`, ZONEPLANE_DNS_PORT: String(dnsPort) },
  });
  t.teardown(() => stopProgram(program));
  const client = new Cloudflare({
    apiEmail: 'admin@localhost',
    apiKey: KEY,
    baseURL: `${program.api}/client/v4`,
    maxRetries: 0,
  });
  const { id: zone_id } = await client.zones.create({ name: 'saas.test', account: {} });
  const record = { zone_id, type: 'A', name: 'origin', content: '192.0.2.1', ttl: 1, proxied: true };
  await client.dns.records.create(record as never);
  await client.customHostnames.fallbackOrigin.update({ zone_id, origin: 'origin.saas.test' });
  const ssl = { method: 'txt', type: 'dv', certificate_authority: 'google' } as const;
  const made = await client.customHostnames.create({ zone_id, hostname: HOST, ssl });
  t.match(made, { status: 'pending' });
  const show = () => client.customHostnames.get(made.id, { zone_id });
  await until(async () => (await show()).ssl?.status === 'pending_validation');
  const [told] = (await show()).ssl!.validation_records!;
  t.match(told, { txt_name: `_acme-challenge.${HOST}`, txt_value: String });
  const again = () => client.customHostnames.edit(made.id, { zone_id, ssl });
  t.match(await again(), { status: 'pending' }, 'nothing is there yet');

  setRecords(`${HOST}. 5 CNAME origin.saas.test.`);
  unbound.kill('SIGHUP');
  await until(async () => (await again()).status === 'active');
  const waiting = await show();
  t.not(waiting.ssl?.status, 'active', 'no certificate without the TXT record');
  const [current] = waiting.ssl!.validation_records ?? [told];
  setRecords(`${HOST}. 5 CNAME origin.saas.test.`, `${current!.txt_name}. 5 TXT "${current!.txt_value}"`);
  unbound.kill('SIGHUP');
  await until(async () => {
    const { ssl: now } = await show();
    if (now?.status === 'active') return true;
    await client.customHostnames.edit(made.id, { zone_id, ssl });
    return now?.status;
  });
});
