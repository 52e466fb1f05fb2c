/** System calls: what the kernel writes to stays where it is. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { createPoll } from '../../src/server/syscalls.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

t.test('the memory of a wait outlives what a loop makes of it', async (t) => {
  let memory: WeakRef<ArrayBuffer> | undefined;
  const calls = {
    poll: () => 0,
    addressOf(buffer: ArrayBuffer) {
      memory = new WeakRef(buffer);
      return 4096;
    },
  };
  createPoll(calls, [3, 4]);
  // A reference of this turn counts until it ends.
  await sleep(1);
  collect();
  t.same(new Int32Array(memory!.deref() ?? new ArrayBuffer(0)).subarray(0, 4), [3, 1, 4, 1]);
});
