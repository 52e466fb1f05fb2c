/** Who stands back when the processors are busy, and who comes soon. On systems other than Linux there is nothing to see. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { getPriority } from 'node:os';
import { Worker } from 'node:worker_threads';
import t from 'tap';
import { Attributes, type SchedulingCalls, standBack, takeShortSlices } from '../../../src/base/process/scheduling.js';
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

/** The calls, with what the system says of the thread, and what was asked for. */
function scripted(policy: number, result = 0): { readonly calls: SchedulingCalls; readonly asked: ArrayBuffer[] } {
  let memory = new ArrayBuffer(0);
  const asked: ArrayBuffer[] = [];
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
      asked.push(memory.slice(0));
      return 0;
    },
  };
  return { calls, asked };
}

t.test('short slices change nothing else of a thread', async (t) => {
  const usual = scripted(0);
  takeShortSlices(usual.calls);
  const view = new DataView(usual.asked[0]!);
  t.equal(view.getBigUint64(Attributes.runtime, true), 200_000n);
  t.equal(view.getInt32(Attributes.nice, true), -7);
  const [fifo, refused] = [scripted(1), scripted(0, -1)];
  takeShortSlices(fifo.calls);
  takeShortSlices(refused.calls);
  t.strictSame(
    [fifo.asked, refused.asked],
    [[], []],
    'neither the policy of an operator nor what cannot be read is changed',
  );
});

t.test('this system takes them, or ignores them', { skip: !isLinux }, async (t) => {
  const calls = await loadSyscalls();
  const before = getPriority();
  takeShortSlices(calls);
  const memory = new ArrayBuffer(Attributes.length);
  t.equal(calls.schedGetattr(0, calls.addressOf(memory), Attributes.length, 0), 0);
  const slice = new DataView(memory).getBigUint64(Attributes.runtime, true);
  t.ok([0n, 200_000n].includes(slice), `${slice} ns`);
  t.equal(getPriority(), before);
  standBack(0, 'process');
  t.equal(getPriority(), before);
});
