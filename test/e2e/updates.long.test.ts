/**
 * Dynamic updates (RFC 2136) with real clients. A table of nsupdate scripts has the same outcome here as at BIND: response
 * code, resulting zone, and whether the serial moved on. random-updates.long.test.ts compares random messages.
 */
import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { createSecondary } from '../support/secondaries.js';
import { until } from '../support/until.js';
import { copyOf, HEADERS, makeKey, policyFor, SECRET, startWorld, type World, ZONE } from '../support/update-world.js';

const PROGRAMS = ['/usr/bin/nsupdate', '/usr/bin/knsupdate', '/usr/sbin/named'];
const absent = PROGRAMS.filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

/** Runs a client with this script; returns the response code that it names. */
async function update(
  program: string,
  port: number,
  script: string,
  { key = 'update.test', zone = 'example.com', tcp = false } = {},
): Promise<string> {
  const text = `server 127.0.0.1 ${port}\nzone ${zone}\n${script}\nsend\n`;
  const flags = program.endsWith('knsupdate')
    ? ['-y', `hmac-sha256:${key}:${SECRET}`]
    : ['-y', `hmac-sha256:${key}:${SECRET}`, '-t', '60'];
  const running = promisify(execFile)(program, [...flags, ...(tcp ? ['-v'] : [])], { timeout: 120_000 });
  running.child.stdin!.end(text);
  const { stdout, stderr } = await running.catch((error) => error as { stdout: string; stderr: string });
  const said = `${stdout}${stderr}`;
  const [, rcode] = /(?:update failed: |update failed with error '|failed \(?)([A-Z]+)/.exec(said) ?? [];
  if (rcode !== undefined) return rcode;
  return said.trim() === '' ? 'NOERROR' : said.trim();
}

/** Each script meets the zone that the ones before it left. */
const SCRIPTS: readonly string[] = [
  'update add new.example.com 60 A 192.0.2.99',
  'update add new.example.com 60 A 192.0.2.99',
  'update add new.example.com 120 A 192.0.2.98',
  'update add new.example.com 0 TXT "zero" "two strings"',
  'prereq nxdomain new.example.com\nupdate add other.example.com 60 A 192.0.2.1',
  'prereq yxdomain new.example.com\nupdate add other.example.com 60 A 192.0.2.1',
  'prereq yxdomain missing.example.com\nupdate add third.example.com 60 A 192.0.2.1',
  'prereq nxdomain missing.example.com\nupdate add third.example.com 60 A 192.0.2.1',
  'prereq yxrrset a.example.com TXT\nupdate add a.example.com 60 TXT "two"',
  'prereq yxrrset a.example.com AAAA\nupdate add a.example.com 60 TXT "three"',
  'prereq nxrrset a.example.com TXT\nupdate add a.example.com 60 TXT "three"',
  'prereq nxrrset a.example.com AAAA\nupdate add a.example.com 60 AAAA 2001:db8::1',
  'prereq yxrrset a.example.com A 192.0.2.10\nupdate delete a.example.com AAAA',
  'prereq yxrrset a.example.com A 192.0.2.10\nprereq yxrrset a.example.com A 192.0.2.11\nupdate delete a.example.com AAAA',
  'prereq yxrrset m.example.com A 192.0.2.10\nupdate delete a.example.com A',
  'prereq nxdomain ent.example.com\nupdate add q.example.com 60 TXT "ent"',
  'prereq yxdomain x.wild.example.com\nupdate add q.example.com 60 TXT "wild"',
  'prereq yxdomain NS2.example.net\nupdate add q.example.com 60 TXT "outside"',
  'prereq yxrrset a.example.com TXT\nprereq nxdomain a.example.com\nupdate add q.example.com 60 TXT "both"',
  'update add alias.example.com 60 A 192.0.2.1',
  'update add a.example.com 60 CNAME b.example.com.',
  'update add alias.example.com 90 CNAME B.example.com.',
  'update add alias2.example.com 60 CNAME a.example.com.\nupdate add alias2.example.com 60 TXT "ignored"',
  'update delete alias2.example.com CNAME\nupdate add alias2.example.com 60 TXT "taken"',
  'update delete a.example.com TXT "one"',
  'update delete a.example.com TXT "absent"',
  'update delete a.example.com A',
  'update delete nowhere.example.com',
  'update delete new.example.com',
  'update delete example.com NS',
  'update delete example.com',
  'update delete example.com NS ns.example.com.',
  'update delete example.com NS ns2.example.net.',
  'update add example.com 300 NS ns3.example.net.\nupdate delete example.com NS ns2.example.net.',
  'update delete example.com SOA',
  'update add elsewhere.org 60 A 192.0.2.1',
  'update delete elsewhere.org',
  'update add one.example.com 60 A 192.0.2.1\nupdate add elsewhere.org 60 A 192.0.2.1',
  'update add example.com 60 CNAME a.example.com.',
  'update add srv.example.com 60 SRV 1 2 389 ldap.example.com.\nupdate add 1.example.com 60 DHCID AAIBY2/AuCccgoJbsaxcQc9TUapptP69lOjxfNuVAA2kjEA=',
  'update delete 1.example.com DHCID',
  'update add odd.example.com 60 TYPE65280 \\# 4 0a000001',
  'update delete odd.example.com TYPE65280 \\# 4 0a000001',
  'update add b.example.com 60 MX 10 Mail.Example.com.',
  'prereq yxrrset b.example.com MX 10 mail.example.COM.\nupdate delete b.example.com MX 10 MAIL.example.com.',
  'update delete b.example.com\nupdate add b.example.com 60 TXT "again"',
  'update delete b.example.com TXT "again"\nupdate add b.example.com 60 TXT "again"',
  'update add *.star.example.com 60 TXT "wildcard"',
  'update add x.sub.example.com 60 A 192.0.2.3',
  'update add c.example.com 3600 CAA 0 issue "ca.example.net"',
  'update add d.example.com 2147483647 TXT "long"',
  'update add dn.example.com 60 DNAME example.net.\nupdate add dn.example.com 60 DNAME example.org.',
  'update add ns4.example.com 1 A 192.0.2.1',
  'update add ns4.example.com 1 A 192.0.2.2',
  'update add example.com 300 SOA ns.example.com. hostmaster.example.com. 1 3600 600 86400 60',
  'update add example.com 300 SOA ns.example.com. hostmaster.example.com. 5000 3600 600 86400 60',
  'update add c.example.com 60 RRSIG A 13 3 60 20300101000000 20200101000000 1 example.com. AAAA',
  '',
  'prereq yxdomain example.com',
  'prereq nxdomain example.com',
];

/** The program, and BIND with the same zone, which the same key may update. */
async function startBeside(t: Test): Promise<{ readonly world: World; readonly port: number }> {
  const world = await startWorld(t);
  const port = await freePort();
  const bind = createSecondary('bind', world.directory, port);
  const file = join(world.directory, 'bind', 'example.com.db');
  writeFileSync(file, ZONE);
  t.teardown(() => bind.stop());
  await bind.start(
    `key "update.test" { algorithm hmac-sha256; secret "${SECRET}"; };\n` +
      `zone "example.com" { type primary; file "${file}"; allow-update { key "update.test"; }; };\n`,
  );
  return { world, port };
}

t.test('nsupdate: outcomes are those of BIND', { skip }, async (t) => {
  const { world, port } = await startBeside(t);
  const { dnsPort } = world.program;
  let [ours, theirs] = [await copyOf(dnsPort), await copyOf(port)];
  t.strictSame(ours.records, theirs.records, 'both begin with the same zone');
  for (const [index, script] of SCRIPTS.entries()) {
    const client = index % 3 === 2 ? '/usr/bin/knsupdate' : '/usr/bin/nsupdate';
    const options = { tcp: index % 2 === 1 };
    const answers = [await update(client, dnsPort, script, options), await update(client, port, script, options)];
    const after = [await copyOf(dnsPort), await copyOf(port)] as const;
    const what = script.replaceAll('\n', '; ');
    t.equal(answers[0], answers[1], `answer to: ${what} (${answers[1]})`);
    t.strictSame(after[0].records, after[1].records, `zone after: ${what}`);
    const moved = [after[0].serial - ours.serial, after[1].serial - theirs.serial];
    t.equal(moved[0], moved[1], `serial after: ${what}`);
    [ours, theirs] = after;
  }
});

t.test('a key changes what its policies allow, and all of an update or nothing', { skip }, async (t) => {
  const world = await startWorld(t);
  const { call, account, zone, program } = world;
  const acme = { names: ['_acme-challenge.example.com', '*.acme.example.com'], types: ['TXT'] };
  await makeKey(world, 'acme.test.', [policyFor(zone, acme)]);
  await makeKey(world, 'nothing.test.');
  const environment = { ZONEPLANE_DATA_DIR: join(world.directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const { out } = await runCommand(environment, 'doctor');
  t.match(out, /update keys +acme\.test\. may update _acme-challenge\.example\.com, \*\.acme\.example\.com \(TXT\)/);
  const before = await copyOf(program.dnsPort);
  const table: readonly (readonly [key: string, script: string, rcode: string])[] = [
    ['acme.test', 'update add _acme-challenge.example.com 60 TXT "token"', 'NOERROR'],
    ['acme.test', 'update add _acme-challenge.example.com 60 CAA 0 issue "x"', 'REFUSED'],
    ['acme.test', 'update add www.example.com 60 TXT "token"', 'REFUSED'],
    ['acme.test', 'update add x.acme.example.com 60 TXT "1"\nupdate add a.example.com 60 TXT "2"', 'REFUSED'],
    ['acme.test', 'update delete a.example.com', 'REFUSED'],
    ['acme.test', 'update delete a.example.com A 192.0.2.10', 'REFUSED'],
    ['acme.test', 'update add example.com 300 SOA ns h 900000 1 1 1 1', 'REFUSED'],
    ['acme.test', 'update delete _acme-challenge.example.com', 'NOERROR'],
    ['nothing.test', 'update add _acme-challenge.example.com 60 TXT "token"', 'REFUSED'],
    ['nothing.test', 'prereq yxdomain a.example.com', 'REFUSED'],
    ['unknown.test', 'update add _acme-challenge.example.com 60 TXT "token"', 'NOTAUTH'],
  ];
  for (const [key, script, rcode] of table) {
    t.equal(await update('/usr/bin/nsupdate', program.dnsPort, script, { key }), rcode, `${key}: ${script}`);
  }
  const after = await copyOf(program.dnsPort);
  t.strictSame(after.records, before.records, 'nothing else happened');
  t.equal(after.serial, before.serial + 2);

  const keys = `/accounts/${account}/secondary_dns/tsigs`;
  const bad = [
    [{ ...policyFor(zone), permission_groups: [{ id: 'e6d2666161e84845a636613608cee8d5' }] }],
    [{ ...policyFor(zone), networks: ['192.0.2.0/24'] }],
    [policyFor(zone, { ...acme, owners: ['x'] } as object)],
    [policyFor(zone, { types: ['NOTYPE'] })],
    [{ ...policyFor(zone), resources: { 'com.cloudflare.api.account.zone.0123': '*' } }],
  ];
  for (const policies of bad) {
    const refused = await call('POST', keys, { name: 'bad.test', algo: 'hmac-sha256', secret: SECRET, policies });
    t.equal(refused.success, false, JSON.stringify(policies));
  }
  const known = (await call('GET', keys)).result.find(({ name }: { name: string }) => name === 'acme.test.');
  t.match(known.policies, [{ effect: 'allow', records: acme }]);
  const { name, algo, secret } = known;
  const kept = await call('PUT', `${keys}/${known.id}`, { name, algo, secret });
  t.match(kept.result.policies, [{ records: acme }], 'a client that knows no policies leaves them');
  await call('PUT', `${keys}/${known.id}`, { name, algo, secret, policies: [] });
  const script = 'update add _acme-challenge.example.com 60 TXT "token"';
  t.equal(await update('/usr/bin/nsupdate', program.dnsPort, script, { key: 'acme.test' }), 'REFUSED');
});

t.test('records of the API under updates', { skip }, async (t) => {
  const { call, account, zone, program } = await startWorld(t);
  const records = `/zones/${zone}/dns_records`;
  const kept = {
    type: 'TXT',
    name: 'note.example.com',
    content: '"kept"',
    ttl: 300,
    comment: 'by hand',
    tags: ['team:a'],
  };
  const { result: made } = await call('POST', records, kept);
  await call('POST', records, { type: 'A', name: 'www.example.com', content: '203.0.113.7', proxied: true });
  const send = (script: string): Promise<string> => update('/usr/bin/nsupdate', program.dnsPort, script);
  t.equal(
    await send(
      'update delete note.example.com\nupdate add note.example.com 120 TXT "kept"\nupdate add note.example.com 120 TXT "new"',
    ),
    'NOERROR',
  );
  const { result: found } = await call('GET', `${records}?name=note.example.com&order=content`);
  t.match(
    found.find(({ id }: { id: string }) => id === made.id),
    { comment: 'by hand', tags: ['team:a'], ttl: 120 },
  );
  t.match(
    found.find(({ id }: { id: string }) => id !== made.id),
    { content: '"new"', comment: 'update key update.test' },
  );

  t.equal(await send('update add www.example.com 60 A 192.0.2.1'), 'REFUSED', 'a proxied name');
  t.equal(await send('update delete www.example.com'), 'REFUSED');
  t.equal(await send('update add www.example.com 60 TXT "beside"'), 'NOERROR');
  t.equal(await send('prereq yxrrset www.example.com A 203.0.113.7\nupdate add y.example.com 60 TXT "x"'), 'NXRRSET');

  const { result: audit } = await call('GET', `/accounts/${account}/audit_logs?per_page=50`);
  const actors = audit.map(({ actor }: { actor: { email: string } }) => actor.email);
  t.ok(actors.includes('update key update.test'), 'the audit log names the key');
  t.match(program.printed(), /"actor":"update key update.test".*"msg":"dynamic update"/);
  const metrics = await (await fetch(`${program.api}/metrics`, { headers: HEADERS })).text();
  t.match(metrics, /zoneplane_updates_total\{rcode="NOERROR"\} 2/);
  t.match(metrics, /zoneplane_updates_total\{rcode="REFUSED"\} 2/);

  await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active' });
  const isSigned = async (): Promise<boolean> => (await copyOf(program.dnsPort)).records.some((rr) => / 46 /.test(rr));
  await until(isSigned);
  const before = await copyOf(program.dnsPort);
  t.equal(await send('update add fresh.example.com 60 TXT "signed"'), 'NOERROR');
  const after = await copyOf(program.dnsPort);
  t.equal(after.serial, before.serial + 1, 'signed in the same commit');
  const types = after.records.filter((rr) => rr.startsWith('fresh.example.com. ')).map((rr) => rr.split(' ')[2]);
  t.strictSame(types.sort(), ['16', '46', '46', '47']);
  const foreign =
    'example.com 3600 DNSKEY 256 3 13 mdsswUyr3DPW132mOi8V9xESWE8jTo0dxCjjnopKl+GqJxpVXckHAeF+KkxLbxILfDLUT0rAK9iUzy1L53eKGQ==';
  const keys = async (): Promise<number> =>
    (await copyOf(program.dnsPort)).records.filter((rr) => / 48 /.test(rr)).length;
  t.equal(await send('update delete example.com DNSKEY'), 'REFUSED', 'its keys are ours');
  t.equal(await send(`update add ${foreign}`), 'REFUSED');
  const own = await keys();
  await call('PATCH', `/zones/${zone}/dnssec`, { dnssec_multi_signer: true });
  t.equal(await send(`update add ${foreign}`), 'NOERROR', 'with several signers, keys come as by the API');
  t.equal(await keys(), own + 1);
  t.equal(await send(`update add ${foreign.replace(' 13 ', ' 8 ')}`), 'REFUSED', 'by the same rules');
  t.equal(
    await send(`update add example.com 60 CDS 1 13 2 ${'00'.repeat(32)}`),
    'REFUSED',
    'these follow from the keys',
  );
  t.equal(await send('update delete example.com DNSKEY'), 'NOERROR');
  t.equal(await keys(), own, 'ours cannot be deleted');
});
