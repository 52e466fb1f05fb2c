/** Flattening in the real program: Unbound is the outside resolver, and also accepts our answers. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { startProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const KEY = 'flat-key-0123456789-0123456789-0123456789';
const hasUnbound = spawnSync('unbound', ['-V']).error === undefined;
const skip = hasUnbound || process.env['CI'] === 'true' ? false : 'unbound is not installed';

t.test('an apex CNAME, from Unbound and to Unbound', { skip, timeout: 300_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-flat-'));
  const [dnsPort, unboundPort] = [await freePort(), await freePort()];
  const children: ChildProcess[] = [];
  t.teardown(async () => {
    for (const child of children) if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  const configuration = join(directory, 'unbound.conf');
  writeFileSync(
    configuration,
    `server:
  interface: 127.0.0.1@${unboundPort}
  username: ""
  chroot: ""
  directory: "${directory}"
  pidfile: "${directory}/unbound.pid"
  use-syslog: no
  do-daemonize: no
  do-not-query-localhost: no
  module-config: "iterator"
  local-zone: "outside.test." static
  local-data: "www.outside.test. 240 CNAME host.outside.test."
  local-data: "host.outside.test. 120 A 203.0.113.5"
  local-data: "host.outside.test. 120 AAAA 2001:db8::5"
  local-zone: "test." nodefault
stub-zone:
  name: "flat.test."
  stub-addr: 127.0.0.1@${dnsPort}
remote-control:
  control-enable: no
`,
  );
  children.push(spawn('unbound', ['-c', configuration], { stdio: 'ignore' }));
  const program = await startProgram({
    directory,
    key: KEY,
    environment: { ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${unboundPort}`, ZONEPLANE_DNS_PORT: String(dnsPort) },
  });
  children.push(program.child);
  const { api } = program;
  const post = async (path: string, body: unknown): Promise<{ readonly result: { readonly id: string } }> => {
    const answer = await fetch(`${api}/client/v4${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.equal(answer.status, 200, path);
    return (await answer.json()) as { readonly result: { readonly id: string } };
  };
  const zone = (await post('/zones', { name: 'flat.test' })).result.id;
  const records = `/zones/${zone}/dns_records`;
  await post(records, { type: 'A', name: 'www', content: '203.0.113.80', ttl: 60 });
  await post(records, { type: 'CNAME', name: '@', content: 'www.outside.test', ttl: 600 });
  await until(async () => (await ask(dnsPort, 'flat.test', 1)) === '0 120 cb007105');
  t.equal(await ask(dnsPort, 'flat.test', 28), '0 120 20010db8000000000000000000000005');
  t.equal(await ask(dnsPort, 'flat.test', 5), '0', 'no CNAME');
  t.match(await ask(unboundPort, 'flat.test', 1), /^0 \d+ cb007105$/, 'a resolver takes it');
  t.match(await ask(unboundPort, 'www.flat.test', 1), /^0 \d+ cb007150$/);
  t.equal(await ask(unboundPort, 'flat.test', 16), '0');
  const metrics = await (await fetch(`${api}/metrics`)).text();
  t.match(metrics, /^zoneplane_flatten_targets 1$/m);
  t.match(metrics, /^zoneplane_flatten_refreshes_total\{result="changed"\} 1$/m);
});

async function ask(port: number, name: string, type: number): Promise<string> {
  const [answer] = await askAll(port, [makeQuery(parseName(`${name}.`), type, { flags: 0x0100 })]);
  if (!answer) throw new Error(`no answer for ${name}`);
  const { rcode, answer: records } = decodeMessage(answer);
  return [rcode, ...records.map(({ ttl, rdata }) => `${ttl} ${rdata}`)].join(' ');
}
