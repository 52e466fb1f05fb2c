/**
 * The whole program under libfaketime, whose clock this test moves by months: certificates are renewed, and a hostname
 * that has moved is gone after a week.
 */
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { startProgram, stopProgram } from '../support/program.js';

const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1';
const KEY = 'time-key-0123456789-0123456789-0123456789-01';
const skip = !existsSync(LIBRARY) && process.env['CI'] !== 'true' ? `not installed: ${LIBRARY}` : false;

interface Hostname {
  readonly id: string;
  readonly status: string;
  readonly ssl: { readonly status: string; readonly certificates?: readonly { readonly serial_number: string }[] };
}

interface Pack {
  readonly status: string;
  readonly certificates: readonly { readonly serial_number: string; readonly expires_on: string }[];
}

t.test('months go by', { skip, timeout: 300_000 }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-time-'));
  const clock = join(directory, 'clock');
  /** The clock of the program is so many days ahead. Other programs never read half of a file. */
  const setDays = (days: number): void => {
    writeFileSync(`${clock}.new`, `+${days * 86_400}\n`);
    renameSync(`${clock}.new`, clock);
  };
  setDays(0);
  const program = await startProgram({
    directory,
    key: KEY,
    environment: {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: clock,
      FAKETIME_NO_CACHE: '1',
      // As where a clock is set: what measures intervals goes on.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    },
  });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${program.api}/client/v4${path}`, { method, headers, ...sent });
    return { status: answer.status, json: (await answer.json()) as { success: boolean; result: never } };
  };
  const call = async <Result>(method: string, path: string, body?: object): Promise<Result> => {
    const { json } = await ask(method, path, body);
    if (!json.success) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
    return json.result;
  };
  const becomes = async <Result>(get: () => Promise<Result>, isSo: (found: Result) => boolean): Promise<Result> => {
    let found = await get();
    for (let i = 0; i < 1200 && !isSo(found); i++) {
      await sleep(100);
      found = await get();
    }
    return found;
  };
  const { id: saas } = await call<{ id: string }>('POST', '/zones', { name: 'saas.test' });
  const { id: customer } = await call<{ id: string }>('POST', '/zones', { name: 'customer.test' });
  const origin = { type: 'A', name: 'origin', content: '192.0.2.10', proxied: true };
  await call('POST', `/zones/${saas}/dns_records`, origin);
  const list = `/zones/${saas}/custom_hostnames`;
  await call('PUT', `${list}/fallback_origin`, { origin: 'origin.saas.test' });
  const record = { type: 'CNAME', name: 'app', content: 'origin.saas.test' };
  const { id: cname } = await call<{ id: string }>('POST', `/zones/${customer}/dns_records`, record);
  const ssl = { method: 'txt', type: 'dv' };
  const { id } = await call<Hostname>('POST', list, { hostname: 'app.customer.test', ssl });
  const get = () => call<Hostname>('GET', `${list}/${id}`);
  const pack = async () => (await call<Pack[]>('GET', `/zones/${saas}/ssl/certificate_packs`))[0];
  const serialOf = (hostname: Hostname) => hostname.ssl.certificates?.[0]?.serial_number;
  const first = await becomes(get, (found) => found.status === 'active' && found.ssl.status === 'active');
  t.match(first, { status: 'active', ssl: { status: 'active' } });
  const universal = await becomes(pack, (found) => found?.status === 'active');
  t.match(universal, { status: 'active' });

  // The built-in authority wants a renewal between days 60 and 63.6: in a window of a fiftieth of the lifetime, which begins as much
  // as another fiftieth after two thirds of it.
  setDays(65);
  const later = { type: 'TXT', name: 'later', content: '"x"' };
  const { created_on } = await call<{ created_on: string }>('POST', `/zones/${saas}/dns_records`, later);
  t.ok(Date.parse(created_on) > Date.now() + 64 * 86_400_000, 'stamps follow the clock');
  const renewed = await becomes(get, (found) => found.ssl.status === 'active' && serialOf(found) !== serialOf(first));
  t.match(renewed, { status: 'active', ssl: { status: 'active' } });
  t.not(serialOf(renewed), serialOf(first), 'two thirds of its time are over');
  const old = universal!.certificates[0]!;
  const next = await becomes(pack, (found) => found?.certificates[0]?.serial_number !== old.serial_number);
  t.ok(Date.parse(next!.certificates[0]!.expires_on) > Date.parse(old.expires_on), 'the universal certificate, too');

  await call('PATCH', `/zones/${customer}/dns_records/${cname}`, { content: 'elsewhere.customer.test' });
  t.equal((await becomes(get, ({ status }) => status === 'moved')).status, 'moved');
  setDays(71);
  await sleep(2000);
  t.equal((await get()).status, 'moved', 'six days later it is still there');
  setDays(73);
  const status = await becomes(
    async () => (await ask('GET', `${list}/${id}`)).status,
    (found) => found === 404,
  );
  t.equal(status, 404, 'eight days later it is gone');

  await call('PATCH', `/zones/${customer}/dnssec`, { status: 'active' });
  const firstExpiry = async (): Promise<number> =>
    Date.parse((await call<{ first_expiry: string }>('GET', `/zones/${customer}/dnssec/status`)).first_expiry);
  const before = await firstExpiry();
  setDays(60);
  await call('POST', `/zones/${customer}/dns_records`, { type: 'TXT', name: 'back', content: '"x"' });
  const all = await becomes(
    async () => ({ expiry: await firstExpiry(), from: Date.parse((await pack())?.certificates[0]?.expires_on ?? '') }),
    ({ expiry, from }) => expiry < before - 10 * 86_400_000 && from < Date.now() + 151 * 86_400_000,
  );
  t.ok(all.expiry < before - 10 * 86_400_000, 'the clock was put back: the zone is signed anew');
  t.ok(all.from < Date.now() + 151 * 86_400_000, 'and so is its certificate');
  t.notMatch(program.printed(), /"level":(50|60|"error")/, 'no error was logged');
});
