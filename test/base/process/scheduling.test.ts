/** Who stands back when the processors are busy, and who comes soon. On systems other than Linux there is nothing to see. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import {
  Attributes,
  comeFirst,
  type SchedulingCalls,
  standBack,
  threadTimeUs,
} from '../../../src/base/process/scheduling.js';
import { loadSyscalls } from '../../../src/server/syscalls.js';

const isLinux = process.platform === 'linux';
const SCHEDULING = new URL('../../../src/base/process/scheduling.js', import.meta.url).href;

/** What a script prints in a process of its own. */
function printed(script: string): string {
  const text = `import os from 'node:os'; import fs from 'node:fs'; import { standBack } from '${SCHEDULING}';${script}`;
  return execFileSync(process.execPath, ['--input-type=module', '--eval', text]).toString().trim();
}

t.test('a thread stands back alone', async (t) => {
  const script = `
    import { getPriority } from 'node:os';
    import { parentPort } from 'node:worker_threads';
    import { standBack } from '${SCHEDULING}';
    standBack(3, 'thread');
    parentPort.postMessage(getPriority());`;
  const before = getPriority();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`));
  const [niceness] = await once(worker, 'message');
  t.equal(niceness, isLinux ? Math.min(19, before + 3) : before);
  t.equal(getPriority(), before, 'the others stay');
});

t.test(
  'a process stands back with all of its threads, and never by more than there is',
  { skip: !isLinux },
  async (t) => {
    const values = "[...new Set(fs.readdirSync('/proc/self/task').map((thread) => os.getPriority(+thread)))].join()";
    t.equal(printed(`standBack(4, 'process'); console.log(${values})`), String(Math.min(19, getPriority() + 4)));
    t.equal(printed(`standBack(4, 'process'); standBack(40, 'process'); console.log(${values})`), '19');
  },
);

/** The calls, with what the system says of the thread, and what was asked for. `allows`: a real-time policy. */
function scripted(policy: number, result = 0, allows = true) {
  let memory = new ArrayBuffer(0);
  const asked: { policy: number; priority: number; nice: number; slice: bigint }[] = [];
  const calls: SchedulingCalls = {
    addressOf(buffer) {
      memory = buffer;
      return 1;
    },
    schedGetattr() {
      const view = new DataView(memory);
      view.setUint32(Attributes.policy, policy, true);
      view.setInt32(Attributes.nice, -7, true);
      return result;
    },
    schedSetattr() {
      const view = new DataView(memory);
      const wanted = view.getUint32(Attributes.policy, true);
      const [priority, nice] = [view.getUint32(Attributes.priority, true), view.getInt32(Attributes.nice, true)];
      asked.push({ policy: wanted, priority, nice, slice: view.getBigUint64(Attributes.runtime, true) });
      return wanted === SCHED_OTHER || allows ? 0 : -1;
    },
  };
  return { calls, asked };
}

const [SCHED_OTHER, SCHED_FIFO, SCHED_RR] = [0, 1, 2];
const USUAL = { policy: SCHED_OTHER, priority: 0, nice: -7, slice: 200_000n };
const FIRST = { policy: SCHED_RR, priority: 1, nice: -7, slice: 200_000n };

t.test('a thread comes first while it needs little of a processor', async (t) => {
  const { calls, asked } = scripted(SCHED_OTHER);
  let used = 5_000_000;
  const look = comeFirst(calls, () => used);
  t.strictSame(asked, [USUAL], 'not while it starts: that takes long');
  let now = 1_000_000;
  const after = (waitedUs: number, workedUs: number): number => {
    now += waitedUs;
    used += workedUs;
    look(now);
    return asked.at(-1)!.policy;
  };
  after(0, 0);
  t.equal(asked.length, 1, 'nothing is known yet');
  after(20_000, 3900);
  t.strictSame(asked, [USUAL, FIRST]);
  t.equal(after(10_000, 10_000), SCHED_RR, 'it is not looked at so soon');
  t.equal(after(10_000, 10_000), SCHED_OTHER, 'a flood leaves the others what they had');
  after(20_000, 20_000);
  t.strictSame(asked, [USUAL, FIRST, USUAL], 'nothing is asked for twice');
  t.equal(after(20_000, 3900), SCHED_RR);
});

t.test('short slices are all that a thread has where no more is allowed', async (t) => {
  const { calls, asked } = scripted(SCHED_OTHER, 0, false);
  const look = comeFirst(calls, () => 0);
  for (let now = 1; now < 200_000; now += 20_000) look(now);
  t.equal(asked.length, 2, 'it is tried once');
  const blind = scripted(SCHED_OTHER);
  const lookBlindly = comeFirst(blind.calls, undefined);
  for (let now = 1; now < 200_000; now += 20_000) lookBlindly(now);
  t.strictSame(blind.asked, [USUAL], 'nor where its time is not known');
});

t.test('neither the policy of an operator nor what cannot be read is changed', async (t) => {
  for (const { calls, asked } of [scripted(SCHED_FIFO), scripted(SCHED_OTHER, -1)]) {
    const look = comeFirst(calls, () => 0);
    for (let now = 1; now < 200_000; now += 20_000) look(now);
    t.strictSame(asked, []);
  }
});

t.test('this system takes the slices, or ignores them', { skip: !isLinux }, async (t) => {
  const calls = await loadSyscalls();
  const before = getPriority();
  comeFirst(calls, undefined);
  const memory = new ArrayBuffer(Attributes.length);
  t.equal(calls.schedGetattr(0, calls.addressOf(memory), Attributes.length, 0), 0);
  const slice = new DataView(memory).getBigUint64(Attributes.runtime, true);
  t.ok([0n, 200_000n].includes(slice), `${slice} ns`);
  t.equal(getPriority(), before);
  standBack(0, 'process');
  t.equal(getPriority(), before);
});

t.test('the time of a thread is its own', { skip: threadTimeUs() === undefined }, async (t) => {
  const usedUs = threadTimeUs()!;
  const before = usedUs();
  t.ok(before > 0 && usedUs() >= before);
});
