/**
 * Waiting for DNS in the real program: one admin process and two DNS processes run separately on one data directory.
 * When the API has answered a waiting write, both serve it; a write that is not served yet is reported as such.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { openStore } from '../../src/store/driver.js';
import { ENVIRONMENT } from '../support/environment.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { askAll } from '../support/reference-servers.js';
import { until } from '../support/until.js';
import { runSql } from '../support/write-now.js';

const PROGRAM = resolve('build/src/main.js');
const KEY = 'insync-key-0123456789-0123456789-0123456789';
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-insync-'));
const adminPort = await freePort();
mkdirSync(join(directory, 'none'));
const children: ChildProcess[] = [];

function start(role: 'admin' | 'dns', dnsPort: number): ChildProcess {
  const child = spawn(process.execPath, [PROGRAM, 'serve', '--role', role], {
    stdio: 'ignore',
    env: {
      ...ENVIRONMENT,
      ZONEPLANE_DATA_DIR: join(directory, 'data'),
      ZONEPLANE_ZONES_DIR: join(directory, 'none'),
      ZONEPLANE_DNS_HOST: '127.0.0.1',
      ZONEPLANE_DNS_PORT: String(dnsPort),
      ZONEPLANE_DNS_WORKERS: '1',
      ZONEPLANE_ADMIN_PORT: String(adminPort),
      ZONEPLANE_ADMIN_KEY: KEY,
      ZONEPLANE_RESOLVER_UPSTREAMS: '',
    },
  });
  children.push(child);
  return child;
}

t.teardown(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const ended = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    await ended;
  }
  rmSync(directory, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  readonly json: any;
}

async function call(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${adminPort}/client/v4${path}`, {
    method,
    headers: { authorization: `Bearer ${KEY}` },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}

/** The last octets of the addresses a name has at a DNS process. */
async function ask(port: number, name: string): Promise<number[]> {
  const [answer] = await askAll(port, [makeQuery(parseName(`${name}.`), 1)], 20_000, 1);
  if (!answer) return [];
  return decodeMessage(answer).answer.map(({ rdata }) => Number.parseInt(rdata.slice(-2), 16));
}

t.test('writes that wait', async (t) => {
  start('admin', await freePort());
  await until(async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status > 0, 'the admin process');
  const zone = (await call('POST', '/zones?wait=insync&wait_limit=0', { name: 'example.com' })) as Answer;
  t.equal(zone.headers.get('zoneplane-status'), 'PENDING', 'no DNS process runs yet');
  t.match(zone.json, { success: true, messages: [{ code: 10202, message: /^Change 1 is stored/ }] });
  const records = `/zones/${zone.json.result.id}/dns_records`;
  const changes = `/zones/${zone.json.result.id}/changes`;
  t.match((await call('GET', `${changes}/1`)).json.result, { id: '1', status: 'PENDING', processes: [] });
  const ports = [await freePort(), await freePort()];
  const [, other] = ports.map((port) => start('dns', port));
  await until(async () => (await call('GET', `${changes}/1`)).json.result.processes.length === 2, 'two DNS processes');

  for (let i = 1; i <= 60; i++) {
    const made = await call('POST', `${records}?wait=insync`, { type: 'A', name: `h${i}`, content: `192.0.2.${i}` });
    const answers = await Promise.all(ports.map((port) => ask(port, `h${i}.example.com`)));
    t.strictSame(answers, [[i], [i]], 'both answer right after the API');
    t.equal(made.headers.get('zoneplane-status'), 'INSYNC');
    t.strictSame(made.json.messages, []);
  }
  const last = await call(
    'PATCH',
    `${records}/${(await call('GET', `${records}?name=h1.example.com`)).json.result[0].id}`,
    {
      content: '192.0.2.200',
    },
  );
  t.equal(last.headers.get('zoneplane-status'), null, 'only who asks waits');
  const change = last.headers.get('zoneplane-change')!;
  await until(async () => (await call('GET', `${changes}/${change}`)).json.result.status === 'INSYNC', 'INSYNC');
  t.match((await call('GET', `${changes}/${change}`)).json.result, {
    id: change,
    status: 'INSYNC',
    serial: Number(last.headers.get('zoneplane-serial')),
    processes: [{ applied: Number(change), status: 'INSYNC' }, { status: 'INSYNC' }],
  });
  t.strictSame(await ask(ports[0]!, 'h1.example.com'), [200]);

  // One that stands still is waited for, to the limit.
  other!.kill('SIGSTOP');
  const late = await call('POST', `${records}?wait=insync&wait_limit=1`, {
    type: 'A',
    name: 'late',
    content: '192.0.2.9',
  });
  t.strictSame([late.status, late.headers.get('zoneplane-status')], [200, 'PENDING']);
  t.strictSame(await ask(ports[0]!, 'late.example.com'), [9], 'the write is done all the same');
  const pending = (await call('GET', `${changes}/${late.headers.get('zoneplane-change')}`)).json.result;
  t.equal(pending.status, 'PENDING');
  t.strictSame(pending.processes.map(({ status }: { status: string }) => status).sort(), ['INSYNC', 'PENDING']);
  const waiting = call('DELETE', `${records}/${late.json.result.id}?wait=insync&wait_limit=20`);
  await sleep(50);
  other!.kill('SIGCONT');
  const deleted = await waiting;
  t.equal(deleted.headers.get('zoneplane-status'), 'INSYNC');
  t.strictSame(await Promise.all(ports.map((port) => ask(port, 'late.example.com'))), [[], []]);

  // One that is gone is not.
  const ended = once(other!, 'exit');
  other!.kill('SIGKILL');
  await ended;
  const alone = await call('POST', `${records}?wait=insync`, { type: 'A', name: 'alone', content: '192.0.2.10' });
  t.equal(alone.headers.get('zoneplane-status'), 'INSYNC');
  t.strictSame(await ask(ports[0]!, 'alone.example.com'), [10]);

  for (const [path, code] of [
    [`${changes}/999999`, 10404],
    [`${changes}/x`, 10404],
    [`/zones/${'0'.repeat(32)}/changes/1`, 1001],
  ] as const) {
    t.match(await call('GET', path), { status: 404, json: { errors: [{ code }] } }, path);
  }
  for (const query of [
    'wait=pending',
    'wait=insync&wait_limit=61',
    'wait=insync&wait_limit=-1',
    'wait=insync&wait_limit=x',
  ]) {
    const refused = await call('POST', `${records}?${query}`, { type: 'A', name: 'refused', content: '192.0.2.11' });
    t.match(refused, { status: 400, json: { errors: [{ code: 9207 }] } }, query);
  }
  t.strictSame(await ask(ports[0]!, 'refused.example.com'), [], 'refused before it is done');
});

t.test('a zone that cannot be published is reported, and the others continue', async (t) => {
  const records: string[] = [];
  for (const name of ['broken.example', 'sound.example']) {
    const zone = await call('POST', '/zones?wait=insync', { name });
    records.push(`/zones/${zone.json.result.id}/dns_records`);
  }
  const [broken, sound] = records as [string, string];
  await call('POST', `${broken}?wait=insync`, {
    type: 'MX',
    name: 'mail',
    content: 'host.broken.example',
    priority: 1,
  });
  const store = openStore(join(directory, 'data'));
  t.teardown(() => store.close());
  const damage = (rdata: string): void => runSql(store, `UPDATE record_rows SET rdata = ${rdata} WHERE type = 15`);
  damage(`x'0001'`);
  const text = await call('POST', broken, { type: 'TXT', name: 'mail', content: '"x"' });
  const path = `${broken.replace('dns_records', 'changes')}/${text.headers.get('zoneplane-change')}`;
  const isHeld = async (): Promise<boolean> => (await call('GET', path)).json.result.processes[0].held;
  await until(isHeld);
  const next = await call('POST', `${broken}?wait=insync&wait_limit=1`, { type: 'TXT', name: 'x', content: '"x"' });
  t.strictSame([next.status, next.headers.get('zoneplane-status')], [200, 'PENDING']);
  t.match(next.json.messages, [{ code: 10203, message: /cannot publish/ }]);
  t.match((await call('GET', path)).json.result, { status: 'PENDING', processes: [{ status: 'PENDING', held: true }] });
  const ready = await fetch(`http://127.0.0.1:${adminPort}/readyz`);
  const { warnings, ...details } = (await ready.json()) as Record<string, unknown>;
  t.strictSame([ready.status, details], [200, { ready: true, held_zones: ['broken.example'] }]);
  t.strictSame(warnings, { 'test-name-servers': 1 }, 'kinds of warnings and how many there are');
  const other = await call('POST', `${sound}?wait=insync`, { type: 'A', name: 'www', content: '192.0.2.77' });
  t.equal(other.headers.get('zoneplane-status'), 'INSYNC');
  damage(`x'000104686f73740662726f6b656e076578616d706c6500'`);
  await until(async () => (await call('GET', path)).json.result.status === 'INSYNC');
  t.match((await call('GET', path)).json.result, { status: 'INSYNC', processes: [{ held: false }] });
  const after = (await (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).json()) as object;
  t.match(after, { ready: true });
  t.notOk('held_zones' in after);
});
