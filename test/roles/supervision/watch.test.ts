/** When a process counts as stuck: never while it only gets no processor, or while the whole program stands still. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t from 'tap';
import { type ProcessUsage, processUsage } from '../../../src/roles/supervision/process-usage.js';
import { watchProcess } from '../../../src/roles/supervision/watch.js';
import { TestClock } from '../../support/test-clock.js';
import { until } from '../../support/until.js';

const MIB = 1024 ** 2;

function watched(role: 'admin' | 'dns' | 'edge', first: Partial<ProcessUsage> | undefined) {
  const clock = new TestClock();
  let usage = first && { memory: 100 * MIB, processorMs: 0, isHeldUp: false, ...first };
  const said: string[] = [];
  const watch = watchProcess({
    ...{ role, pid: 1, clock, usageOf: () => usage },
    onStuck: (why) => said.push(why),
  });
  const use = (next: Partial<ProcessUsage>): void => {
    usage = { ...usage!, ...next };
  };
  return { clock, watch, said, use };
}

t.test('a process that rests and says nothing for thirty looks', async (t) => {
  const { clock, watch, said } = watched('edge', {});
  for (let i = 0; i < 100; i++) {
    clock.advance(20_000);
    watch.heard();
  }
  clock.advance(29_000);
  t.same(said, []);
  clock.advance(1000);
  t.same(said, ['does not report any more']);
  clock.advance(1_000_000);
  t.equal(said.length, 1, 'said once');
});

t.test('a process that waits for a processor, or for a disk, gets ten times as long', async (t) => {
  const { clock, watch, said, use } = watched('dns', { isHeldUp: true });
  clock.advance(299_000);
  t.same(said, []);
  watch.heard();
  use({ isHeldUp: false });
  clock.advance(29_000);
  use({ isHeldUp: true });
  clock.advance(270_000);
  t.same(said, []);
  clock.advance(1000);
  t.equal(said.length, 1);
});

t.test('a loop: what counts is the processor time that it has really had', async (t) => {
  const { clock, watch, said, use } = watched('edge', { isHeldUp: true, processorMs: 500_000 });
  clock.advance(60_000);
  use({ processorMs: 509_000 });
  clock.advance(60_000);
  t.same(said, [], 'nine seconds in two minutes: a busy machine');
  watch.heard();
  clock.advance(3000);
  use({ processorMs: 518_000 });
  clock.advance(1000);
  t.same(said, [], 'it has spoken in between');
  use({ processorMs: 520_000 });
  clock.advance(1000);
  t.same(said, ['is caught in one piece of work']);
  const admin = watched('admin', { isHeldUp: true });
  admin.clock.advance(5000);
  admin.use({ processorMs: 59_000 });
  admin.clock.advance(1000);
  t.same(admin.said, [], 'zones are large');
});

t.test('a process that takes memory without a word is ended before the machine suffers', async (t) => {
  const { clock, said, use, watch } = watched('edge', { isHeldUp: true });
  clock.advance(3000);
  use({ memory: 700 * MIB });
  watch.heard();
  clock.advance(5000);
  t.same(said, [], 'one that reports may use memory');
  use({ memory: 1300 * MIB });
  clock.advance(1000);
  t.same(said, ['takes more and more memory and does not report any more']);
});

t.test('where the system tells nothing, silence alone counts', async (t) => {
  const { clock, said } = watched('dns', undefined);
  clock.advance(29_000);
  t.same(said, []);
  clock.advance(1000);
  t.equal(said.length, 1);
});

t.test('what Linux tells of a process', { skip: process.platform !== 'linux' }, async (t) => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume(); process.stdout.write("up")']);
  await once(child.stdout, 'data');
  await until(() => processUsage(child.pid!)?.isHeldUp === false, 'it rests');
  const { memory, processorMs } = processUsage(child.pid!)!;
  t.ok(memory > MIB && memory < 1024 * MIB && processorMs >= 0, `${memory} octets, ${processorMs} ms`);
  child.kill('SIGKILL');
  await once(child, 'exit');
  t.equal(processUsage(child.pid!), undefined);
});
