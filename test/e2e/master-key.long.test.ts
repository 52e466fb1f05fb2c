/**
 * The master key is missing, or another one: signed zones are served as they are, nothing is changed or overwritten, the reason
 * and the remedy are said, and everything goes on when the right key is there.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { spawnCommand } from '../support/commands.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const KEY = 'k0123456789abcdef0123456789abcdef0123';
const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
const WRONG = `${'ab'.repeat(32)}\n`;

/** Types and data of the answer to a question with DO. */
async function ask({ dnsPort }: Program, name: string): Promise<string[]> {
  const [octets] = await askAll(dnsPort, [makeQuery(parseName(name), Type.a, { edns: 4096, dnssecOk: true })], 5000);
  return decodeMessage(octets!).answer.map(({ type, rdata }) => `${type} ${Buffer.from(rdata).toString('hex')}`);
}

t.test('a missing or wrong master key', { timeout: 540_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-master-key-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'data', 'master.key');
  let program = await startProgram({ directory, key: KEY });
  t.teardown(() => stopProgram(program));
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  const call = async (method: string, path: string, body?: unknown): Promise<any> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await fetch(`${program.api}/client/v4${path}`, { method, headers: HEADERS, ...sent })).json();
  };
  const account = (await call('GET', '/accounts')).result[0].id;
  const zone = (await call('POST', '/zones', { name: 'sealed.test', account: { id: account } })).result.id;
  const add = (name: string) => call('POST', `/zones/${zone}/dns_records`, { type: 'A', name, content: '192.0.2.1' });
  await add('www');
  const { ds } = (await call('PATCH', `/zones/${zone}/dnssec`, { status: 'active' })).result;
  const isSigned = (name: string) => async () => (await ask(program, name)).length === 2;
  await until(isSigned('www.sealed.test.'));
  const signed = await ask(program, 'www.sealed.test.');
  t.match(signed, [/^1 /, /^46 /], 'an address and its signature');
  const right = readFileSync(file);
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data') };

  for (const { state, reason } of [
    {
      state: 'missing',
      reason:
        /"remedy":"Restore it [^\n]*master\.key is missing, but secrets in the database were sealed with it; starting it again/,
    },
    {
      state: 'wrong',
      reason:
        /"remedy":"Restore [^\n]*is not the one that sealed the secrets in the database \(needed: key \w+; found: \w+\); starting it again/,
    },
  ]) {
    const put = (): void => (state === 'missing' ? rmSync(file) : writeFileSync(file, WRONG, { mode: 0o600 }));
    const isUntouched = (): boolean => {
      const { found } = look(file);
      return state === 'missing' ? found === undefined : found === WRONG;
    };
    put();
    t.match(await add(`${state}.sealed.test`), { success: true }, 'a server that runs has its keys');
    const command = await spawnCommand(environment, ['record', 'add', 'sealed.test', 'other', 'A', '192.0.2.2']);
    t.match(command, {
      code: 1,
      err: /sealed\.test is signed.*its private keys cannot be opened.*Nothing was changed/,
    });
    t.match(await spawnCommand(environment, ['doctor']), { code: 1, out: /fail +master key/ });
    await stopProgram(program);
    program = await startProgram({ directory, key: KEY, said: 'starting it again' });
    t.match(program.printed(), reason);
    await until(isSigned('www.sealed.test.'));
    t.strictSame(await ask(program, 'www.sealed.test.'), signed, `${state}: the DNS process serves the zone as it is`);
    t.strictSame(await ask(program, 'other.sealed.test.'), []);
    await t.rejects(call('GET', '/zones'), 'the API is not there');
    t.notMatch(program.printed(), /"msg":"ready"/);
    t.ok(isUntouched(), `${state}: no key was made or replaced`);
    writeFileSync(file, right, { mode: 0o600 });
    await until(async () => program.printed().includes('"msg":"ready"'));
    t.equal((await call('GET', `/zones/${zone}/dnssec`)).result.ds, ds, 'the keys are the same');
    t.match(await add(`after-${state}.sealed.test`), { success: true }, 'and sign');
    await until(isSigned(`after-${state}.sealed.test.`));
  }
});

function look(file: string): { found: string | undefined } {
  try {
    return { found: readFileSync(file, 'utf8') };
  } catch {
    return { found: undefined };
  }
}
