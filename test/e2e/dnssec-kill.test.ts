/**
 * The whole program is killed while it signs one zone for the first time, replaces the signatures of another, and a key of a third.
 * Whenever it is started again, secondaries get valid zones, and the work goes on to its end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { seededRandom } from '../support/seeded-random.js';
import { missingVerifiers, requireRecordsVerified } from '../support/signed-copy.js';
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
  /** Whether the zone that secondaries get is signed. Throws when it is not valid. */
  readonly look: (apex: string, when: string) => Promise<boolean>;
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
      return isSigned;
    },
  };
}

t.test('killed while it signs', { skip, timeout: 240_000 }, async (t) => {
  const { call, kill, look } = await startWorld(t);
  const account = (await call('GET', '/accounts')).result[0].id;
  const tsig = { name: 'k.test.', algo: 'hmac-sha256.', secret: SECRET };
  const key = (await call('POST', `/accounts/${account}/secondary_dns/tsigs`, tsig)).result.id;
  const peer = { name: 'copy', ip: '127.0.0.1', port: 1, tsig_id: key };
  const { id: peerId } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  const makeZone = async (name: keyof typeof NAMES): Promise<string> => {
    const { id } = (await call('POST', '/zones', { name, account: { id: account } })).result;
    await call('POST', `/zones/${id}/secondary_dns/outgoing`, { name, peers: [peerId] });
    await call('POST', `/zones/${id}/secondary_dns/outgoing/enable`);
    const posts = Array.from({ length: NAMES[name] }, (_, i) => ({ type: 'A', name: `h${i}`, content: '192.0.2.1' }));
    t.match(await call('POST', `/zones/${id}/dns_records/batch`, { posts }), { success: true });
    return id;
  };
  const [first, refreshed, rolled] = [await makeZone(FIRST), await makeZone(REFRESHED), await makeZone(ROLLED)];
  const enable = (id: string) => call('PATCH', `/zones/${id}/dnssec`, { status: 'active' });
  for (const id of [refreshed, rolled]) t.match(await enable(id), { result: { status: 'pending' } });
  for (const name of [REFRESHED, ROLLED]) await until(() => look(name, 'signed at once'));
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
      const isSigned = await look(name, `kill ${i}`);
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
  for (const name of [FIRST, REFRESHED, ROLLED]) await until(() => look(name, 'the end'));
});
