/** What DNS processes tell the admin process, over a real socket. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock, sleep, TestClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { createPropagation, type Propagation } from '../../src/control/write/propagation.js';
import { hearAcknowledgements, startAcknowledger } from '../../src/roles/acknowledgement.js';

function makeDirectory(t: Test, below = ''): string {
  const root = mkdtempSync(join(tmpdir(), 'zoneplane-ack-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, below);
  mkdirSync(directory, { recursive: true });
  return directory;
}

async function until(t: Test, condition: () => boolean, what: string): Promise<void> {
  for (let i = 0; i < 500 && !condition(); i++) await sleep(10);
  t.ok(condition(), what);
}

const applied = (propagation: Propagation): number[] =>
  propagation
    .processes()
    .map((process) => process.applied)
    .sort();

for (const below of ['', `${'long-name-'.repeat(8)}/${'x'.repeat(60)}`]) {
  t.test(`processes come and go${below && ' where the path is long'}`, async (t) => {
    const directory = makeDirectory(t, below);
    const clock = new SystemClock();
    const propagation = createPropagation(clock);
    let one = 5;
    // The first is there before the admin process.
    const first = startAcknowledger(directory, () => one, clock);
    t.teardown(() => first.close());
    // Left behind by a process that was killed.
    writeFileSync(join(directory, 'changes.sock'), '');
    const hearing = await hearAcknowledgements(directory, propagation, silentLogger());
    t.notOk(propagation.isServed(0), 'without any process nothing is served');
    await until(t, () => applied(propagation).length === 1, 'the first is heard');
    t.ok(propagation.isServed(5));
    t.notOk(propagation.isServed(6));
    const second = startAcknowledger(directory, () => 3, clock);
    await until(t, () => applied(propagation).length === 2, 'the second too');
    t.strictSame(applied(propagation), [3, 5]);
    t.notOk(propagation.isServed(5), 'the second is behind');
    const waiting = propagation.whenServed(6, 10_000);
    second.tell(6);
    await until(t, () => applied(propagation).includes(6), 'it says when it is not');
    first.tell((one = 6));
    t.equal(await waiting, true);
    const forTheFirst = propagation.whenServed(7, 10_000);
    first.tell((one = 7));
    second.close();
    t.equal(await forTheFirst, true, 'nobody waits for one that is gone');
    hearing.close();
    const later = createPropagation(clock);
    const again = await hearAcknowledgements(directory, later, silentLogger());
    t.teardown(() => again.close());
    await until(t, () => later.isServed(7), 'the first comes again');
  });
}

t.test('what is no acknowledgement', async (t) => {
  const directory = makeDirectory(t);
  const propagation = createPropagation(new SystemClock());
  const hearing = await hearAcknowledgements(directory, propagation, silentLogger());
  t.teardown(() => hearing.close());
  for (const text of ['hello\n', '1\n', '1 2 3\n', `1 ${'9'.repeat(100)}\n`]) {
    const socket = connect(join(directory, 'changes.sock'));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write(text);
    await closed;
  }
  t.strictSame(propagation.processes(), []);
});

t.test('waiting ends', async (t) => {
  const clock = new TestClock();
  const propagation = createPropagation(clock);
  propagation.report({ name: 'a', applied: 1 });
  let served: boolean | undefined;
  const waiting = propagation.whenServed(2, 1000).then((value) => {
    served = value;
  });
  clock.advance(999);
  await Promise.resolve();
  t.equal(served, undefined);
  clock.advance(1);
  await waiting;
  t.equal(served, false);
  t.equal(await propagation.whenServed(1, 1000), true, 'at once when it is there');
});
