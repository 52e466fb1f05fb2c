/** The threads that read zones for transfers: accounts share them. */
import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import t from 'tap';
import { frameOf } from '../../src/dns/frames.js';
import { Spool } from '../../src/transfer/out/spool.js';
import type { SpoolOrder } from '../../src/transfer/out/spool-order.js';
import { createSpoolThreads, type SpoolTask } from '../../src/transfer/out/spool-threads.js';
import { createSpooler } from '../../src/transfer/out/spooler.js';
import { TestClock } from '../support/test-clock.js';

/** A thread that reads a zone until the test says that it is read. */
class SlowThread extends EventEmitter {
  zone: number | undefined;

  unref(): void {}

  postMessage({ zone }: SpoolOrder): void {
    this.zone = zone;
  }

  finish(): void {
    this.zone = undefined;
    this.emit('message', { kind: 'memory', octets: new Uint8Array(0) });
  }

  async terminate(): Promise<void> {
    this.emit('exit', 0);
  }
}

const [GREEDY, OTHER] = [1, 2];

t.test('an account that has all threads keeps nobody else waiting', async (t) => {
  const opened: SlowThread[] = [];
  const open = (): Worker => {
    const thread = new SlowThread();
    opened.push(thread);
    return thread as unknown as Worker;
  };
  const threads = createSpoolThreads({ dataDir: '', serving: {} as never }, new TestClock(), open);
  const read = (zone: number, account: number): Spool => {
    const spool = new Spool();
    threads.fill({ order: { zone, from: undefined }, spool, account });
    return spool;
  };
  const zones = (): (number | undefined)[] => opened.map(({ zone }) => zone);
  for (let zone = 1; zone <= 20; zone++) read(zone, GREEDY);
  t.same(zones(), [1, 2, 3, 4], 'who is alone has all');
  const first = read(100, OTHER);
  t.same(zones(), [1, 2, 3, 4, 100], 'another account has one at once');
  read(101, OTHER);
  opened[4]!.finish();
  t.ok(first.isDone);
  t.same(zones(), [1, 2, 3, 4, 101], 'and then its next one, before those that came earlier');
  opened[0]!.finish();
  t.same(zones(), [undefined, 2, 3, 4, 101], 'which wait while all places are taken');
  opened[1]!.finish();
  t.same(zones(), [5, undefined, 3, 4, 101]);
  const last = read(102, OTHER);
  await threads.close();
  t.ok(last.isDone, 'at the end nobody waits');
  t.equal(opened.length, 5, 'and no further thread begins');
});

t.test('clients with serials that the zone never had share one reading of the whole zone', async (t) => {
  const orders: SpoolOrder[] = [];
  const threads = {
    fill({ order, spool }: SpoolTask): void {
      orders.push(order);
      if (order.from === undefined) spool.hear({ kind: 'memory', octets: frameOf(Uint8Array.of(7)) });
      else spool.hear({ kind: 'whole' });
    },
    async close() {},
  };
  const spooler = createSpooler({ dataDir: '', serving: {} as never, clock: new TestClock() }, threads);
  const state = { version: 1, serial: 1000, account: GREEDY };
  for (let from = 0; from < 100; from++) {
    const blocks = spooler.spool({ zone: 1, from }, state).blocks();
    for await (const block of blocks) t.equal(block[2], 7);
  }
  t.equal(orders.filter(({ from }) => from === undefined).length, 1);
  await spooler.close();
});
