/**
 * Signed zones in the whole program: the vendor's client signs a child and its parent, the parent publishes the DS record,
 * unbound validates with the parent's key alone, the zone changes under its eyes, and is taken off again.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { freePort } from '../support/free-ports.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const UNBOUND = '/usr/sbin/unbound';
const skip = existsSync(UNBOUND) || process.env['CI'] === 'true' ? false : 'not installed: unbound';
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const PARENT = 'parent.test';
const CHILD = 'child.parent.test';

async function startUnbound(t: Test, directory: string, port: number, anchor: string): Promise<number> {
  const own = await freePort();
  const file = join(directory, 'unbound.conf');
  const stubs = [PARENT, CHILD].map((zone) => `stub-zone:\n  name: "${zone}"\n  stub-addr: 127.0.0.1@${port}\n`);
  writeFileSync(
    file,
    `server:
  interface: 127.0.0.1@${own}
  do-daemonize: no
  use-syslog: no
  username: ""
  chroot: ""
  directory: "${directory}"
  pidfile: ""
  logfile: "${directory}/unbound.log"
  do-not-query-localhost: no
  module-config: "validator iterator"
  trust-anchor: "${anchor}"
  cache-max-ttl: 0
  cache-max-negative-ttl: 0
  aggressive-nsec: no
  local-zone: "test." nodefault
${stubs.join('')}remote-control:\n  control-enable: no\n`,
  );
  const child: ChildProcess = spawn(UNBOUND, ['-c', file], { stdio: 'ignore' });
  t.teardown(async () => {
    if (child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until(async () => (await ask(own, PARENT, Type.soa)) !== undefined);
  return own;
}

async function ask(port: number, name: string, type: number): Promise<DecodedMessage | undefined> {
  const query = makeQuery(parseName(`${name}.`), type, { flags: 0x0100, edns: 4096, dnssecOk: true });
  const [answer] = await askAll(port, [query], 10_000, 1);
  return answer && decodeMessage(answer);
}

/** What a validating resolver says: `secure`, `insecure` or `bogus`, and the code of the answer. */
async function judge(port: number, name: string, type: number): Promise<string> {
  const answer = await ask(port, name, type);
  if (!answer) return 'silent';
  if (answer.rcode === Rcode.servFail) return 'bogus';
  return `${answer.ad ? 'secure' : 'insecure'} ${answer.rcode}`;
}

t.test('signed by the client, believed by unbound, from the parent down', { skip, timeout: 240_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-dnssec-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const program = await startProgram({ directory, key: KEY });
  t.teardown(() => stopProgram(program));
  const client = new Cloudflare({
    apiEmail: 'admin@localhost',
    apiKey: KEY,
    baseURL: `${program.api}/client/v4`,
    maxRetries: 0,
  });
  const makeZone = async (name: string): Promise<string> => (await client.zones.create({ name, account: {} })).id;
  const add = async (zone_id: string, type: string, name: string, content: string): Promise<void> => {
    await client.dns.records.create({ zone_id, type, name, content, ttl: 60 } as never);
  };
  const [parent, child] = [await makeZone(PARENT), await makeZone(CHILD)];
  await add(parent, 'NS', 'child', 'ns1.elsewhere.test');
  await add(child, 'A', 'www', '192.0.2.1');
  await add(child, 'TXT', '*.wild', '"any"');
  await add(child, 'CNAME', 'alias', `www.${CHILD}`);
  const ours = await client.dns.dnssec.edit({ zone_id: parent, status: 'active' });
  const port = await startUnbound(t, directory, program.dnsPort, ours.ds!.replace(' 3600 IN', ''));
  await until(async () => (await judge(port, PARENT, Type.soa)) === 'secure 0');
  t.equal(await judge(port, `www.${CHILD}`, Type.a), 'insecure 0', 'the child is not signed, and that is proven');

  const theirs = await client.dns.dnssec.edit({ zone_id: child, status: 'active' });
  t.match(theirs, { status: 'pending', ds: /^child\.parent\.test\. 3600 IN DS / });
  t.equal(await judge(port, `www.${CHILD}`, Type.a), 'insecure 0');
  const [tag, algorithm, digestType, digest] = theirs.ds!.split(' ').slice(-4);
  await client.dns.records.create({
    zone_id: parent,
    type: 'DS',
    name: 'child',
    ttl: 60,
    data: { key_tag: Number(tag), algorithm: Number(algorithm), digest_type: Number(digestType), digest: digest! },
  });
  const kinds: [name: string, type: number, verdict: string][] = [
    [`www.${CHILD}`, Type.a, 'secure 0'],
    [`WWW.${CHILD}`, Type.aaaa, 'secure 0'],
    [`x.wild.${CHILD}`, Type.txt, 'secure 0'],
    [`x.wild.${CHILD}`, Type.a, 'secure 0'],
    [`alias.${CHILD}`, Type.a, 'secure 0'],
    [`missing.${CHILD}`, Type.a, 'secure 3'],
    [`wild.${CHILD}`, Type.a, 'secure 0'],
    [CHILD, Type.dnskey, 'secure 0'],
    [CHILD, Type.ds, 'secure 0'],
  ];
  await until(async () => (await judge(port, `www.${CHILD}`, Type.a)) === 'secure 0');
  for (const [name, type, verdict] of kinds) t.equal(await judge(port, name, type), verdict, `${name} ${type}`);
  await client.dns.dnssec.edit({ zone_id: child, status: 'active' });
  await until(async () => (await client.dns.dnssec.get({ zone_id: child })).status === 'active');

  await add(child, 'A', 'new', '192.0.2.2');
  await until(async () => (await judge(port, `new.${CHILD}`, Type.a)) === 'secure 0');
  t.equal(await judge(port, `missing.${CHILD}`, Type.a), 'secure 3', 'the chain goes round the new name');

  t.match(await client.dns.dnssec.edit({ zone_id: child, status: 'disabled' }), { status: 'pending-disabled' });
  await t.rejects(client.dns.dnssec.delete({ zone_id: child }), { message: /^400 .*Disable it first/ });
  t.equal(await judge(port, `www.${CHILD}`, Type.a), 'secure 0', 'signed until the DS record is gone');
  for await (const record of client.dns.records.list({ zone_id: parent, type: 'DS' })) {
    await client.dns.records.delete(record.id!, { zone_id: parent });
  }
  t.match(await client.dns.dnssec.edit({ zone_id: child, status: 'disabled' }), { status: 'disabled' }, 'it is gone');
  await until(async () => (await judge(port, `www.${CHILD}`, Type.a)) === 'insecure 0');
  await client.dns.dnssec.delete({ zone_id: child });
  t.match(await client.dns.dnssec.get({ zone_id: child }), { status: 'disabled', ds: null });
  t.equal(await judge(port, `www.${CHILD}`, Type.a), 'insecure 0', 'never bogus');
});
