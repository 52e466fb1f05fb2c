/**
 * Signed zones in the whole program: the vendor's client signs a child and its parent, the parent publishes the DS record,
 * unbound validates with the parent's key alone, the zone changes under its eyes, and is taken off again.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Cloudflare from 'cloudflare';
import t from 'tap';
import { Type } from '../../src/dns/codes.js';
import { startProgram, stopProgram } from '../support/program.js';
import { isUnboundMissing, startUnbound, WITHOUT_CACHE } from '../support/unbound.js';
import { until } from '../support/until.js';

const skip = !isUnboundMissing() || process.env['CI'] === 'true' ? false : 'not installed: unbound';
const KEY = 'k0123456789abcdef0123456789abcdef0123';
const PARENT = 'parent.test';
const CHILD = 'child.parent.test';

t.test('signed by the client, believed by unbound, from the parent down', { skip, timeout: 540_000 }, async (t) => {
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
  const { judge } = await startUnbound(t, {
    names: [PARENT, CHILD],
    ports: [program.dnsPort],
    anchors: [ours.ds!],
    settings: WITHOUT_CACHE,
  });
  await until(async () => (await judge(PARENT, Type.soa)) === 'secure 0');
  t.equal(await judge(`www.${CHILD}`, Type.a), 'insecure 0', 'the child is not signed, and that is proven');

  const theirs = await client.dns.dnssec.edit({ zone_id: child, status: 'active' });
  t.match(theirs, { status: 'pending', ds: /^child\.parent\.test\. 3600 IN DS / });
  t.equal(await judge(`www.${CHILD}`, Type.a), 'insecure 0');
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
  await until(async () => (await judge(`www.${CHILD}`, Type.a)) === 'secure 0');
  for (const [name, type, verdict] of kinds) t.equal(await judge(name, type), verdict, `${name} ${type}`);
  await client.dns.dnssec.edit({ zone_id: child, status: 'active' });
  await until(async () => (await client.dns.dnssec.get({ zone_id: child })).status === 'active');

  await add(child, 'A', 'new', '192.0.2.2');
  await until(async () => (await judge(`new.${CHILD}`, Type.a)) === 'secure 0');
  t.equal(await judge(`missing.${CHILD}`, Type.a), 'secure 3', 'the chain goes round the new name');

  t.match(await client.dns.dnssec.edit({ zone_id: child, status: 'disabled' }), { status: 'pending-disabled' });
  await t.rejects(client.dns.dnssec.delete({ zone_id: child }), { message: /^400 .*Disable it first/ });
  t.equal(await judge(`www.${CHILD}`, Type.a), 'secure 0', 'signed until the DS record is gone');
  for await (const record of client.dns.records.list({ zone_id: parent, type: 'DS' })) {
    await client.dns.records.delete(record.id!, { zone_id: parent });
  }
  t.match(await client.dns.dnssec.edit({ zone_id: child, status: 'disabled' }), { status: 'disabled' }, 'it is gone');
  await until(async () => (await judge(`www.${CHILD}`, Type.a)) === 'insecure 0');
  await client.dns.dnssec.delete({ zone_id: child });
  t.match(await client.dns.dnssec.get({ zone_id: child }), { status: 'disabled', ds: null });
  t.equal(await judge(`www.${CHILD}`, Type.a), 'insecure 0', 'never bogus');
});
