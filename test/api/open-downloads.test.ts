/** Downloads that are on their way when their reader may not read any more. */
import t from 'tap';
import { streamText } from '../../src/api/dns-records/transfer.js';
import { silentLogger } from '../../src/base/log.js';

t.test('a download ends with the right to read it', async (t) => {
  let isClosed = false;
  let mayRead = true;
  async function* pieces(): AsyncGenerator<string> {
    try {
      for (let n = 0; n < 1000; n++) yield `piece ${n}\n`;
    } finally {
      isClosed = true;
    }
  }
  const requireStill = (): void => {
    if (!mayRead) throw new Error('removed');
  };
  const stream = await streamText(pieces(), { log: silentLogger(), requireStill });
  let read = 0;
  const reading = async (): Promise<void> => {
    for await (const _ of stream) {
      read += 1;
      if (read === 10) mayRead = false;
    }
  };
  await t.rejects(reading(), /removed/);
  t.ok(read < 100, 'what was under way, and no more');
  t.equal(isClosed, true, 'its source is closed');
});
