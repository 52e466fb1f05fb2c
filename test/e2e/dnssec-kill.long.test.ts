/**
 * The whole program is killed while it signs one zone for the first time, replaces the signatures of another, and a key of a
 * third; and while a command replaces all records of a signed zone. Whenever it is started again, secondaries get valid zones,
 * and the work goes on to its end.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { unusedRecordsJobs } from '../../src/control/kernel/unused-records.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { openStore } from '../../src/store/driver.js';
import { nextJobAt } from '../../src/store/jobs.js';
import { ENVIRONMENT } from '../support/environment.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { seededRandom } from '../support/seeded-random.js';
import { missingVerifiers, requireRecordsVerified } from '../support/signed-copy.js';
import { TestClock } from '../support/test-clock.js';
import { transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

const missing = missingVerifiers();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;
const API_KEY = 'kill-key-0123456789-0123456789-0123456789-0123456789';
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
/** Zones by what happens to them. */
const [FIRST, REFRESHED, ROLLED] = ['first.test', 'refreshed.test', 'rolled.test'] as const;
const NAMES = { [FIRST]: 2500, [REFRESHED]: 480, [ROLLED]: 480 } as const;
const KILLS = Number(process.env['ZONEPLANE_SIGNING_KILLS'] ?? 2);
const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const KEY: TsigKey = {
  name: parseName('k.test.'),
  algorithm: 'hmac-sha256',
  secret: new Uint8Array(Buffer.from(SECRET, 'base64')),
};

interface World {
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly call: (method: string, path: string, body?: unknown) => Promise<any>;
  /** Kills all processes at one stroke, and starts the program again. */
  readonly kill: () => Promise<void>;
  /** Whether the zone that secondaries get is signed, and its addresses. Throws when it is not valid. */
  readonly look: (apex: string, when: string) => Promise<Look>;
  readonly directory: string;
  /** Ends the program in good order. */
  readonly stop: () => Promise<void>;
}

interface Look {
  readonly isSigned: boolean;
  /** As hexadecimal rdata. */
  readonly addresses: readonly string[];
}

async function startWorld(t: Test): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-kill-'));
  const options = { directory, key: API_KEY, detached: true };
  let program: Program = await startProgram(options);
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    async call(method, path, body) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent });
      return response.json();
    },
    async kill() {
      await stopProgram(program, 'SIGKILL');
      program = await startProgram(options);
    },
    async look(apex, when) {
      const { records } = await transfer(program.dnsPort, parseName(`${apex}.`), { key: KEY });
      const rrs = records.slice(1).map(({ owner, type, ttl, rdata }) => {
        return { owner: parseName(owner), type, ttl, rdata: new Uint8Array(Buffer.from(rdata, 'hex')) };
      });
      const isSigned = rrs.some(({ type }) => type === Type.rrsig || type === Type.nsec || type === Type.dnskey);
      if (isSigned) requireRecordsVerified(apex, rrs, when);
      return { isSigned, addresses: records.filter(({ type }) => type === Type.a).map(({ rdata }) => rdata) };
    },
    directory,
    stop: async () => void (await stopProgram(program)),
  };
}

/** Adds a peer, to which zones can be transferred. The result lets it transfer a zone. */
async function addPeer({ call }: World): Promise<(name: string, id: string) => Promise<void>> {
  const account = (await call('GET', '/accounts')).result[0].id;
  const tsig = { name: 'k.test.', algo: 'hmac-sha256.', secret: SECRET };
  const key = (await call('POST', `/accounts/${account}/secondary_dns/tsigs`, tsig)).result.id;
  const peer = { name: 'copy', ip: '127.0.0.1', port: 1, tsig_id: key };
  const { id: peerId } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  return async (name, id) => {
    await call('POST', `/zones/${id}/secondary_dns/outgoing`, { name, peers: [peerId] });
    await call('POST', `/zones/${id}/secondary_dns/outgoing/enable`);
  };
}

t.test('killed while it signs', { skip, timeout: 540_000 }, async (t) => {
  const world = await startWorld(t);
  const { call, kill, look } = world;
  const account = (await call('GET', '/accounts')).result[0].id;
  const share = await addPeer(world);
  const makeZone = async (name: keyof typeof NAMES): Promise<string> => {
    const { id } = (await call('POST', '/zones', { name, account: { id: account } })).result;
    await share(name, id);
    const posts = Array.from({ length: NAMES[name] }, (_, i) => ({ type: 'A', name: `h${i}`, content: '192.0.2.1' }));
    t.match(await call('POST', `/zones/${id}/dns_records/batch`, { posts }), { success: true });
    return id;
  };
  const [first, refreshed, rolled] = [await makeZone(FIRST), await makeZone(REFRESHED), await makeZone(ROLLED)];
  const enable = (id: string) => call('PATCH', `/zones/${id}/dnssec`, { status: 'active' });
  for (const id of [refreshed, rolled]) t.match(await enable(id), { result: { status: 'pending' } });
  for (const name of [REFRESHED, ROLLED]) await until(async () => (await look(name, 'signed at once')).isSigned);
  const zsks = async (): Promise<{ state: string; key_tag: number }[]> => {
    const { result } = await call('GET', `/zones/${rolled}/dnssec/keys`);
    return result.filter(({ role }: { role: string }) => role === 'zsk');
  };
  const [old] = await zsks();

  t.match(await call('PATCH', `/zones/${refreshed}/dns_settings`, { soa: { expire: 2_419_200 } }), { success: true });
  const rollover = { role: 'zsk', emergency: true };
  t.match(await call('POST', `/zones/${rolled}/dnssec/rollover`, rollover), { success: true });
  t.match(await enable(first), { result: { status: 'pending' } });
  const random = seededRandom(5);
  for (let i = 0; i < KILLS; i++) {
    await sleep(random.bytes(1)[0]! * 4);
    await kill();
    for (const name of [FIRST, REFRESHED, ROLLED]) {
      const { isSigned } = await look(name, `kill ${i}`);
      if (name !== FIRST) t.ok(isSigned, `${name} stays signed`);
    }
  }
  const status = async (id: string) => (await call('GET', `/zones/${id}/dnssec/status`)).result;
  // What a killed process was doing is left to it for half a minute.
  for (const isDone of [
    async () => (await status(first)).progress === null,
    async () => (await status(refreshed)).due === 0,
    async () => {
      const [only, ...more] = await zsks();
      return more.length === 0 && only!.state === 'active' && only!.key_tag !== old!.key_tag;
    },
  ]) {
    await until(isDone);
  }
  for (const name of [FIRST, REFRESHED, ROLLED]) await until(async () => (await look(name, 'the end')).isSigned);
});

const REPLACED = 'replaced.test';
const REPLACED_NAMES = 2500;
/** Its address in all files, 192.0.2.254. */
const NAME_SERVER = 'c00002fe';
/** Longer than an import may stand still. */
const LATER_MS = 900_000;

/** A file with other addresses and another serial for each number. */
function writeFile({ directory }: World, number: number): string {
  const file = join(directory, 'replaced.zone');
  const names = Array.from({ length: REPLACED_NAMES }, (_, i) => `host-number-${i} 300 A 192.0.2.${number}`);
  const own = [`@ 300 SOA ns h ${number} 3600 600 1209600 60`, '@ 300 NS ns.else.test.', 'ns 300 A 192.0.2.254'];
  writeFileSync(file, `$ORIGIN ${REPLACED}.\n${[...own, ...names].join('\n')}\n`);
  return file;
}

/** The command that replaces the zone, as a process of its own. */
function replaceBy(world: World, number: number): ChildProcess {
  const args = ['build/src/main.js', 'zone', 'import', '--replace', writeFile(world, number)];
  const env = { ...ENVIRONMENT, ZONEPLANE_DATA_DIR: join(world.directory, 'data') };
  return spawn(process.execPath, args, { env, stdio: 'ignore' });
}

async function codeOf(command: ChildProcess): Promise<number | null> {
  if (command.exitCode === null && command.signalCode === null) await once(command, 'exit');
  return command.exitCode;
}

interface Sets {
  /** Sets that no zone has yet. */
  readonly staged: number;
  /** Signatures in them. */
  readonly signatures: number;
  /** Sets that no zone has. */
  readonly unused: number;
}

function countSets({ directory }: World): Sets {
  const store = openStore(join(directory, 'data'), { readonly: true });
  const counts = store.prepareTuples<[], [number, number, number]>(
    `SELECT (SELECT count(*) FROM record_sets WHERE state = 'staged'),
       (SELECT count(*) FROM signatures WHERE signature_set IN (SELECT number FROM record_sets WHERE state = 'staged')),
       (SELECT count(*) FROM record_sets WHERE number NOT IN (SELECT record_set FROM zones)
         AND number NOT IN (SELECT signature_set FROM dnssec_zones))`,
  );
  const [staged, signatures, unused] = counts.get()!;
  store.close();
  return { staged, signatures, unused };
}

/** What is staged at a moment; killed then, the zone cannot be the new one yet. */
const MOMENTS: readonly { readonly when: string; readonly isThere: (more: Omit<Sets, 'unused'>) => boolean }[] = [
  { when: 'records are staged', isThere: ({ staged }) => staged > 0 },
  { when: 'signatures are staged', isThere: ({ signatures }) => signatures > 0 },
];

t.test('killed while all records of a signed zone are replaced', { skip, timeout: 540_000 }, async (t) => {
  const world = await startWorld(t);
  const { call, kill, look, stop, directory } = world;
  t.equal(await codeOf(replaceBy(world, 1)), 0);
  const { id } = (await call('GET', `/zones?name=${REPLACED}`)).result[0];
  await (await addPeer(world))(REPLACED, id);
  t.match(await call('PATCH', `/zones/${id}/dnssec`, { status: 'active' }), { result: { status: 'pending' } });
  await until(async () => (await look(REPLACED, 'signed')).isSigned);

  /** The number of the file that is served whole. */
  const served = async (when: string): Promise<number> => {
    const { isSigned, addresses } = await look(REPLACED, when);
    t.ok(isSigned, `${when}: signed`);
    const [first, ...others] = new Set(addresses.filter((address) => address !== NAME_SERVER));
    t.equal(others.length, 0, `${when}: not a mixture`);
    t.equal(addresses.length, REPLACED_NAMES + 1, `${when}: whole`);
    return Number.parseInt(first!.slice(-2), 16);
  };
  let number = 1;
  /** Kills all when so much more is staged than before, and some milliseconds later. */
  const killWhen = async (isThere: (typeof MOMENTS)[number]['isThere'], laterMs = 0): Promise<void> => {
    const before = countSets(world);
    const command = replaceBy(world, ++number);
    await until(async () => {
      const { staged, signatures } = countSets(world);
      return isThere({ staged: staged - before.staged, signatures: signatures - before.signatures });
    });
    await sleep(laterMs);
    command.kill('SIGKILL');
    await Promise.all([kill(), codeOf(command)]);
  };
  for (const { when, isThere } of MOMENTS) {
    await killWhen(isThere);
    t.ok(countSets(world).staged > 0, `killed when ${when}`);
    t.equal(await served(when), 1, `killed when ${when}: the old zone`);
  }
  // Near the end, either of them is right.
  const random = seededRandom(7);
  let current = 1;
  for (let i = 1; i < KILLS; i++) {
    await killWhen(({ signatures }) => signatures > REPLACED_NAMES / 2, random.bytes(1)[0]!);
    const after = await served(`kill ${i}`);
    t.ok([current, number].includes(after), 'the old zone or the new one');
    current = after;
  }
  t.equal(await codeOf(replaceBy(world, ++number)), 0, 'the next replacement');
  await until(async () => (await served('the end')) === number);

  await stop();
  const store = openStore(join(directory, 'data'));
  t.ok(nextJobAt(store, 'unused_records')! < Date.now() + LATER_MS, 'what was staged is looked for');
  const { signal } = new AbortController();
  const clock = new TestClock(Date.now() + LATER_MS);
  const job = { store, clock, log: silentLogger(), attempt: 0, signal, requireLease() {} };
  t.strictSame(await unusedRecordsJobs.handler(job, ''), { done: true });
  store.close();
  t.strictSame(countSets(world), { staged: 0, signatures: 0, unused: 0 }, 'nothing of it is left');
});
