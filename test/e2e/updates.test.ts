/**
 * Dynamic updates (RFC 2136) with real clients. A table of nsupdate scripts has the same outcome here as at BIND: response
 * code, resulting zone, and whether the serial moved on.
 */
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { freePort } from '../support/free-ports.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { createSecondary } from '../support/secondaries.js';
import { asSet, serialOf, transfer } from '../support/transfer-client.js';

const KEY = 'updates-key-0123456789-0123456789-0123456789';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const APEX = parseName('example.com.');
const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const ZONE = `$ORIGIN example.com.
$TTL 300
@ SOA ns hostmaster 1 3600 600 86400 60
@ NS ns
@ NS ns2.example.net.
@ MX 10 mail
ns A 192.0.2.1
a A 192.0.2.10
a A 192.0.2.11
a TXT "one"
mail A 192.0.2.25
alias CNAME a.example.com.
*.wild TXT "w"
deep.ent TXT "below an empty name"
sub NS ns.sub
ns.sub A 192.0.2.53
`;
const PROGRAMS = ['/usr/bin/nsupdate', '/usr/bin/knsupdate', '/usr/sbin/named'];
const absent = PROGRAMS.filter((path) => !existsSync(path));
const skip = absent.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${absent.join(', ')}` : false;

interface World {
  readonly directory: string;
  readonly program: Program;
  readonly zone: string;
  readonly account: string;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>;
}

const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

function policyFor(zone: string, records?: { names?: string[]; types?: string[] }) {
  const resources = { [`com.cloudflare.api.account.zone.${zone}`]: '*' };
  return { effect: 'allow', permission_groups: [{ id: DNS_WRITE }], resources, ...(records && { records }) };
}

async function startWorld(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-updates-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(join(directory, 'zones', 'example.com.zone'), ZONE);
  const environment = { ZONEPLANE_TRANSFER_ALLOW: '127.0.0.1/32' };
  const program = await startProgram({ directory, key: KEY, environment });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const call: World['call'] = async (method, path, body) => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
    return response.json();
  };
  const [zone] = (await call('GET', '/zones')).result;
  const world = { directory, program, zone: zone.id, account: zone.account.id, call };
  await makeKey(world, 'update.test.', [policyFor(zone.id)]);
  return world;
}

async function makeKey({ call, account }: World, name: string, policies?: unknown): Promise<void> {
  const body = { name, algo: 'hmac-sha256.', secret: SECRET, ...(policies !== undefined && { policies }) };
  const made = await call('POST', `/accounts/${account}/secondary_dns/tsigs`, body);
  if (!made.success) throw new Error(JSON.stringify(made));
}

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
    : ['-y', `hmac-sha256:${key}:${SECRET}`, '-t', '5'];
  const running = promisify(execFile)(program, [...flags, ...(tcp ? ['-v'] : [])], { timeout: 20_000 });
  running.child.stdin!.end(text);
  const { stdout, stderr } = await running.catch((error) => error as { stdout: string; stderr: string });
  const said = `${stdout}${stderr}`;
  const [, rcode] = /(?:update failed: |update failed with error '|failed \(?)([A-Z]+)/.exec(said) ?? [];
  if (rcode !== undefined) return rcode;
  return said.trim() === '' ? 'NOERROR' : said.trim();
}

async function copyOf(port: number): Promise<{ serial: number; records: string[] }> {
  const { records } = await transfer(port, APEX);
  const data = asSet(records.filter(({ type }) => type !== 6));
  return { serial: serialOf(records[0]!), records: data };
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

t.test('nsupdate: outcomes are those of BIND', { skip }, async (t) => {
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
