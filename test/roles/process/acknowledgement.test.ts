/** Reports of DNS processes to the admin process, over a real socket. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import type { EdgeReports } from '../../../src/certs/deployment.js';
import { createPropagation, isHeld, type Propagation } from '../../../src/control/kernel/propagation.js';
import {
  hearAcknowledgements,
  type ProcessListeners,
  sayCommitted,
  startAcknowledger,
  startEdgeAcknowledger,
} from '../../../src/roles/process/acknowledgement.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

function makeDirectory(t: Test, below = ''): string {
  const root = mkdtempSync(join(tmpdir(), 'zoneplane-ack-'));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const directory = join(root, below);
  mkdirSync(directory, { recursive: true });
  return directory;
}

const noEdges: EdgeReports = { report() {}, forget() {}, noteChanges() {} };
const dnsOnly = (propagation: Propagation): ProcessListeners => ({ propagation, edges: noEdges });

const ZONE = 1;
const upTo = (appliedChange: number, ...heldZones: { readonly zone: number; readonly change: number }[]) => ({
  appliedChange,
  loadingZones: [],
  heldZones,
});
const change = (number: number, zone = ZONE) => ({ change: number, zone });

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
    let one = upTo(5);
    // The first is there before the admin process.
    const first = startAcknowledger(directory, () => one, clock);
    t.teardown(() => first.close());
    // Left behind by a process that was killed.
    writeFileSync(join(directory, 'changes.sock'), '');
    const hearing = await hearAcknowledgements(directory, dnsOnly(propagation), silentLogger());
    t.notOk(propagation.isServed(change(0)), 'without any process nothing is served');
    await until(() => applied(propagation).length === 1, 'the first is heard');
    t.ok(propagation.isServed(change(5)));
    t.notOk(propagation.isServed(change(6)));
    const second = startAcknowledger(directory, () => upTo(3), clock);
    await until(() => applied(propagation).length === 2, 'the second too');
    t.strictSame(applied(propagation), [3, 5]);
    t.notOk(propagation.isServed(change(5)), 'the second is behind');
    const waiting = propagation.whenServed(change(6), 10_000);
    second.tell(upTo(6));
    await until(() => applied(propagation).includes(6), 'it says when it is not');
    first.tell((one = upTo(6)));
    t.equal(await waiting, true);
    const forTheFirst = propagation.whenServed(change(7), 10_000);
    first.tell((one = upTo(7)));
    second.close();
    t.equal(await forTheFirst, true, 'nobody waits for one that is gone');
    hearing.close();
    const later = createPropagation(clock);
    const again = await hearAcknowledgements(directory, dnsOnly(later), silentLogger());
    t.teardown(() => again.close());
    await until(() => later.isServed(change(7)), 'the first comes again');
  });
}

t.test('changes of a zone that cannot be published are not served', async (t) => {
  const directory = makeDirectory(t);
  const clock = new SystemClock();
  const propagation = createPropagation(clock);
  const hearing = await hearAcknowledgements(directory, dnsOnly(propagation), silentLogger());
  t.teardown(() => hearing.close());
  const process = startAcknowledger(directory, () => upTo(9, { zone: 2, change: 7 }), clock);
  t.teardown(() => process.close());
  await until(() => propagation.isServed(change(9)), 'of other zones they are');
  t.notOk(propagation.isServed(change(7, 2)));
  t.notOk(propagation.isServed(change(9, 2)));
  t.ok(propagation.isServed(change(6, 2)), 'what came before is');
  t.ok(propagation.processes().every((one) => isHeld(one, change(7, 2))));
  const waiting = propagation.whenServed(change(8, 2), 10_000);
  process.tell({
    appliedChange: 10,
    loadingZones: [
      { zone: 2, change: 7 },
      { zone: 3, change: 10 },
    ],
    heldZones: [],
  });
  await until(() => propagation.isServed(change(10)), 'loading takes long');
  t.notOk(propagation.isServed(change(8, 2)));
  t.notOk(propagation.processes().some((one) => isHeld(one, change(7, 2))));
  process.tell(upTo(10));
  t.equal(await waiting, true, 'until the zone can be published');
  const many = Array.from({ length: 60 }, (_, index) => ({ zone: index + 10, change: 20 + index }));
  process.tell(upTo(90, ...many));
  await until(() => propagation.isServed(change(69)), 'with too many to name');
  t.notOk(propagation.isServed(change(70)), 'no change counts since the first of those that are not named');
  t.notOk(propagation.isServed(change(20, 10)));
});

t.test('commits of the admin process and of commands wake the followers', async (t) => {
  const directory = makeDirectory(t);
  const clock = new SystemClock();
  await sayCommitted(directory);
  t.pass('without an admin process nobody is told');
  let heardByAdmin = 0;
  const propagation = createPropagation(clock);
  const hearing = await hearAcknowledgements(directory, dnsOnly(propagation), silentLogger(), () => heardByAdmin++);
  t.teardown(() => hearing.close());
  const wakes = [0, 0];
  for (const index of [0, 1]) {
    const process = startAcknowledger(
      directory,
      () => upTo(1),
      clock,
      () => wakes[index]!++,
    );
    t.teardown(() => process.close());
  }
  await until(() => propagation.processes().length === 2, 'two follow');
  const connected = [...wakes];
  hearing.tellCommitted();
  await until(() => wakes.every((count, i) => count > connected[i]!), 'the admin process wakes both');
  t.equal(heardByAdmin, 0);
  const before = [...wakes];
  await sayCommitted(directory);
  await until(() => wakes.every((count, i) => count > before[i]!), 'a command wakes both');
  t.equal(heardByAdmin, 1, 'and the admin process');
  t.equal(propagation.processes().length, 2, 'a command is not a DNS process');
});

t.test('invalid acknowledgements', async (t) => {
  const directory = makeDirectory(t);
  const propagation = createPropagation(new SystemClock());
  const hearing = await hearAcknowledgements(directory, dnsOnly(propagation), silentLogger());
  t.teardown(() => hearing.close());
  for (const text of [
    'hello\n',
    '1\n',
    '1 2 3\n',
    '1 2 3:\n',
    '1 2 3:4:5\n',
    '1 2 3:4 x\n',
    `1 ${'9'.repeat(100)}\n`,
  ]) {
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
  propagation.report({ name: 'a', applied: 1, unpublished: [] });
  let served: boolean | undefined;
  const waiting = propagation.whenServed(change(2), 1000).then((value) => {
    served = value;
  });
  clock.advance(999);
  await Promise.resolve();
  t.equal(served, undefined);
  clock.advance(1);
  await waiting;
  t.equal(served, false);
  t.equal(await propagation.whenServed(change(1), 1000), true, 'at once when it is there');
});

t.test('edges say what they have read, and are forgotten when they end', async (t) => {
  const directory = makeDirectory(t);
  const clock = new SystemClock();
  const heard = new Map<string, string>();
  const edges: EdgeReports = {
    report: (name, applied, unusable) => heard.set(name, [applied, ...unusable].join()),
    forget: (name) => heard.delete(name),
    noteChanges() {},
  };
  const propagation = createPropagation(clock);
  const hearing = await hearAcknowledgements(directory, { propagation, edges }, silentLogger());
  t.teardown(() => hearing.close());
  const one = startEdgeAcknowledger(directory, () => ({ change: 5, unusable: [] }), clock);
  let woken = 0;
  const two = startEdgeAcknowledger(
    directory,
    () => ({ change: 7, unusable: [] }),
    clock,
    () => woken++,
  );
  t.teardown(() => one.close());
  const read = (): string => [...heard.values()].sort().join(' ');
  await until(() => read() === '5 7', 'both are heard');
  t.strictSame(propagation.processes(), [], 'they are not DNS processes');
  const before = woken;
  hearing.tellCommitted();
  await until(() => woken > before, 'a commit wakes an edge');
  const unusable = ['zone:0a', 'hostname:0b-c'];
  one.tell({ change: 6, unusable });
  await until(() => read() === '6,zone:0a,hostname:0b-c 7', 'it has read on');
  one.tell({ change: 6, unusable: Array.from({ length: 100 }, (_, i) => `zone:${i}`) });
  await until(() => read().includes('zone:49'), 'it names some of them');
  t.notMatch(read(), /zone:50/);
  one.tell({ change: 6, unusable: [] });
  await until(() => read() === '6 7', 'they can be used again');
  two.close();
  await until(() => read() === '6', 'one has ended');
  const liar = connect(join(directory, 'changes.sock'));
  liar.write('edge 1 many\n');
  await new Promise((resolve) => liar.once('close', resolve));
  t.equal(read(), '6', 'what is not a line ends the connection');
});
