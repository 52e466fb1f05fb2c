/** A spare process takes the place of one that crashed, and errors of single connections end no process. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { silentLogger } from '../../../src/base/log.js';
import { loadSettings } from '../../../src/config/load.js';
import type { SpareKind } from '../../../src/roles/supervision/spare.js';
import { SupervisedChild } from '../../../src/roles/supervision/supervised-child.js';
import { isOfOneConnection } from '../../../src/roles/supervision/unheard-errors.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

/** It tells with its report what it was ordered, and in which order. */
const PROGRAM = `
const orders = [];
process.on('message', (order) => {
  orders.push(order.kind + (order.standby ? ' standby' : ''));
  if (order.kind === 'drain') process.exit(0);
  if (order.kind === 'take-place' || (order.kind === 'start' && !order.standby)) {
    process.send({ kind: 'ready', report: { pid: process.pid, title: process.title, orders } });
  }
});
process.on('disconnect', () => process.exit());
`;

interface Report {
  readonly pid: number;
  readonly title: string;
  readonly orders: readonly string[];
}

async function start(t: Test, spare: SpareKind | undefined) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-spare-'));
  const program = join(directory, 'role.mjs');
  writeFileSync(program, PROGRAM);
  const clock = new TestClock();
  const reports: Report[] = [];
  const { settings, origins } = loadSettings({ flags: {}, environment: {} });
  const child = new SupervisedChild({
    ...{ role: 'edge' as const, program, environment: process.env, spare, clock, log: silentLogger() },
    start: { settings, origins, version: '1', terminal: false },
    onReady: (report) => void reports.push(report as unknown as Report),
    onLost() {},
    onNotice() {},
  });
  t.teardown(() => {
    child.kill();
    rmSync(directory, { recursive: true, force: true });
  });
  await child.start();
  return { child, clock, reports };
}

for (const [kind, orders] of [
  ['standby', ['start standby', 'take-place']],
  ['loaded', ['start']],
] as const) {
  t.test(`after each crash a spare process (${kind}) goes on`, async (t) => {
    const { child, clock, reports } = await start(t, kind);
    t.same(reports[0]!.orders, ['start']);
    for (let crashes = 1; crashes <= 3; crashes++) {
      clock.advance(10_000);
      process.kill(reports.at(-1)!.pid, 'SIGKILL');
      await until(() => {
        clock.advance(0);
        return reports.length === crashes + 1;
      }, 'the next one is ready');
      t.match(reports.at(-1), { title: 'zoneplane (spare process)', orders });
    }
    t.equal(new Set(reports.map(({ pid }) => pid)).size, 4);
    t.ok(await child.drain(60_000));
  });
}

t.test('changed settings reach the spare process', async (t) => {
  const { child, clock, reports } = await start(t, 'standby');
  clock.advance(10_000);
  child.reload({ logLevel: 'debug' });
  process.kill(reports[0]!.pid, 'SIGKILL');
  await until(() => {
    clock.advance(0);
    return reports.length === 2;
  });
  t.same(reports[1]!.orders, ['start standby', 'reload', 'take-place']);
});

t.test('without room for one, a process is started anew', async (t) => {
  const { clock, reports } = await start(t, undefined);
  clock.advance(10_000);
  process.kill(reports[0]!.pid, 'SIGKILL');
  await until(() => {
    clock.advance(0);
    return reports.length === 2;
  });
  t.same(reports[1]!.orders, ['start']);
});

t.test('errors of one connection, and others', async (t) => {
  const error = (code: string): Error => Object.assign(new Error('x'), { code });
  for (const code of ['ECONNRESET', 'EPIPE', 'ERR_HTTP2_STREAM_ERROR', 'ERR_SSL_WRONG_VERSION_NUMBER', 'EMFILE']) {
    t.ok(isOfOneConnection(error(code)), code);
  }
  for (const other of [new TypeError('x'), error('ENOSPC'), error('SQLITE_CORRUPT'), 'ECONNRESET', undefined]) {
    t.notOk(isOfOneConnection(other));
  }
});
