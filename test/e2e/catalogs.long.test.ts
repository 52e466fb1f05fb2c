/** Knot and BIND as consumers of our catalog zone (RFC 9432): zones that are made by API appear there, and disappear again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { startProgram, stopProgram } from '../support/program.js';
import { askAll, missingReferences, type ReferenceName } from '../support/reference-servers.js';
import { createSecondary, type Secondary } from '../support/secondaries.js';
import { until } from '../support/until.js';

const KEY = 'catalogs-key-0123456789-0123456789-0123456789';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const ZONES = 200;
const AT_ONCE = 20;
const SOA = 6;
const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

const nameOf = (number: number): string => `zone-${number}.example`;

async function startWorld(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-catalogs-'));
  const program = await startProgram({ directory, key: KEY });
  const consumers: Secondary[] = [];
  t.teardown(async () => {
    await Promise.all(consumers.map((consumer) => consumer.stop()));
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  const call = async (method: string, path: string, body?: unknown): Promise<any> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
    return response.json();
  };
  const run = (...args: string[]) => runCommand({ ZONEPLANE_DATA_DIR: join(directory, 'data') }, ...args);
  return { directory, program, consumers, call, run };
}

/** Runs `work` for many numbers, some at once. */
async function forEach(numbers: readonly number[], work: (number: number) => Promise<void>): Promise<void> {
  const rest = [...numbers];
  const worker = async (): Promise<void> => {
    for (let number = rest.shift(); number !== undefined; number = rest.shift()) await work(number);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** How many of these zones a server answers with authority. */
async function countServed(port: number, numbers: readonly number[]): Promise<number> {
  const queries = numbers.map((number) => makeQuery(parseName(`${nameOf(number)}.`), SOA));
  const answers = await askAll(port, queries, 2000, 3);
  return answers.filter((answer) => answer && decodeMessage(answer).answer.length === 1).length;
}

t.test('Knot and BIND serve what the catalog lists', { skip }, async (t) => {
  const { directory, program, consumers, call, run } = await startWorld(t);
  const done = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await run(...args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${err}`);
    return out;
  };
  await done('tsig', 'create', 'fleet.test');
  for (const name of ['knot', 'bind'] as const) {
    const port = await freePort();
    await done('secondary', 'add', name, '--address', '127.0.0.1', '--port', String(port), '--tsig', 'fleet.test');
    consumers.push(createSecondary(name, directory, port));
  }
  const { id, zoneId } = JSON.parse(await done('secondary', 'catalog', 'create', 'fleet.test', '--json'));
  const place = ['--address', `127.0.0.1@${program.dnsPort}`, '--catalog'];
  const nsd = await done('secondary', 'print', '--kind', 'nsd', ...place, '--peer', 'knot');
  t.match(nsd, /NSD before 4\.9 does not support catalog zones[\s\S]*nsd-control addzone/);
  for (const consumer of consumers) {
    const text = await done('secondary', 'print', '--kind', consumer.name, ...place, '--peer', consumer.name);
    await consumer.start(...configurationOf(consumer.name, text));
  }
  const all = Array.from({ length: ZONES }, (_, number) => number);
  const ids = new Map<number, string>();
  await forEach(all, async (number) => {
    const { result } = await call('POST', '/zones', { name: nameOf(number) });
    ids.set(number, result.id);
  });
  const hint = (): string => consumers.map((consumer) => consumer.log().slice(-1500)).join('\n');
  const servedBy = async (numbers: readonly number[], count: number): Promise<boolean> => {
    for (const { port } of consumers) if ((await countServed(port, numbers)) !== count) return false;
    return true;
  };
  await until(() => servedBy(all, ZONES), 'all zones are served', hint);
  t.pass(`${ZONES} zones are served by both`);

  const { account } = (await call('GET', `/zones/${ids.get(0)}`)).result;
  const path = `/accounts/${account.id}/secondary_dns/catalogs/${id}`;
  const { result: members } = await call('GET', `${path}/members`);
  t.equal(members.length, ZONES);
  t.strictSame(new Set(members.map((member: { member_id: string }) => member.member_id)), new Set(ids.values()));

  const removed = all.slice(0, 50);
  await forEach(removed, async (number) => void (await call('DELETE', `/zones/${ids.get(number)}`)));
  await until(() => servedBy(removed, 0), 'removed zones are gone', hint);
  t.ok(await servedBy(all.slice(50), ZONES - 50), 'and the others are not');

  const serialBefore = (await call('GET', path)).result.soa_serial;
  const { result: reset } = await call('PATCH', `${path}/members/${ids.get(60)}`, { reset: true, group: 'zoneplane' });
  t.match(reset, { name: nameOf(60), group: 'zoneplane' });
  t.not(reset.member_id, ids.get(60));
  t.equal((await call('GET', path)).result.soa_serial, serialBefore + 1, 'one change');
  // BIND looks at a catalog every five seconds. What it has of the zone is gone then, and our program must be there for the rest.
  const resets = [
    `\\[${nameOf(60)}\\.\\].*(purg|catalog)`,
    `'${nameOf(60)}' unique label has changed[^]*adding zone '${nameOf(60)}'`,
  ];
  const haveReset = () => consumers.every((consumer, index) => new RegExp(resets[index]!).test(consumer.log()));
  await until(haveReset, 'they began anew with the zone', hint);
  await until(() => servedBy([60], 1), 'and serve it', hint);

  // A record that is made in a member goes there like one of any zone.
  await call('POST', `/zones/${ids.get(60)}/dns_records`, { type: 'TXT', name: 'x', content: '"new"', ttl: 60 });
  const query = makeQuery(parseName(`x.${nameOf(60)}.`), 16);
  const hasRecord = async ({ port }: Secondary): Promise<boolean> => {
    const [answer] = await askAll(port, [query], 1000, 1);
    return answer !== undefined && decodeMessage(answer).answer.length === 1;
  };
  await until(async () => (await Promise.all(consumers.map(hasRecord))).every(Boolean), 'the record is there', hint);

  const other = JSON.parse(await done('secondary', 'catalog', 'create', 'other.test', '--linked', '--json'));
  await done('secondary', 'catalog', 'member', nameOf(61), '--catalog', 'fleet.test', '--move-to', 'other.test');
  const records = (await call('GET', `/zones/${zoneId}/dns_records?per_page=5000`)).result;
  const moved = records.find(({ name }: { name: string }) => name === `coo.${ids.get(61)}.zones.fleet.test`);
  t.match(moved, { type: 'PTR', content: 'other.test' }, 'the old catalog names the new one (RFC 9432 §4.3.1)');
  const { result: taken } = await call('GET', `/accounts/${account.id}/secondary_dns/catalogs/${other.id}/members`);
  t.ok(
    taken.some((member: { member_id: string }) => member.member_id === ids.get(61)),
    'under the same identifier',
  );

  await stopProgram(program);
  for (const consumer of consumers) await consumer.stop().then(() => consumer.start());
  await until(() => servedBy(all.slice(50), ZONES - 50), 'after a restart they serve what they have', hint);
});

/** BIND has a line of the configuration in its options. */
function configurationOf(name: ReferenceName, text: string): [configuration: string, options?: string] {
  if (name === 'knot') return [text];
  const line = /^# Put this line into the options block: (.*)$/m.exec(text)?.[1];
  if (line === undefined) throw new Error(text);
  return [text, line];
}
