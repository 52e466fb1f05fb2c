/** Faults of those who answer later: no answer, and nothing more. */
import t from 'tap';
import { Transport } from '../../src/answer/transport.js';
import { Count, countBlock, createCounters } from '../../src/server/counters.js';
import { guardDeferred } from '../../src/server/guard.js';

t.test('an answer that fails, now or later, is reported and is none', async (t) => {
  const counts = countBlock(createCounters(1).memory, 0);
  const reports: string[] = [];
  const report = (error: unknown, request: Uint8Array) =>
    void reports.push(`${(error as Error).message} ${request[0]}`);
  const ask = (answer: () => Promise<undefined>) =>
    guardDeferred(answer, counts, report)(Uint8Array.of(7), Transport.udp, '192.0.2.1', 53);
  t.equal(await ask(() => Promise.reject(new Error('later'))), undefined);
  const atOnce = (): never => {
    throw new Error('at once');
  };
  t.equal(ask(atOnce), undefined);
  t.strictSame(reports, ['later 7', 'at once 7']);
  t.strictSame([counts[Count.fault], counts[Count.silent]], [2, 2]);
});
