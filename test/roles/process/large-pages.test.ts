/** Which memory gets large pages, and that asking for them changes nothing of it. */
import { platform } from 'node:os';
import t from 'tap';
import { largePages, loadLargePages } from '../../../src/roles/process/large-pages.js';
import { Linux } from '../../../src/server/syscalls.js';

const MIB = 1 << 20;

t.test('whole pages of large memory, and none of small memory', async (t) => {
  const advised: number[][] = [];
  const ask = largePages({
    addressOf: () => 0x7f0000000010,
    madvise: (...values) => {
      advised.push(values);
      return -1;
    },
  });
  for (const octets of [0, 4096, 16 * MIB - 1]) ask(new SharedArrayBuffer(octets));
  t.strictSame(advised, [], 'a large page would take more than all of it');
  ask(new SharedArrayBuffer(16 * MIB));
  const [[address, length, advice] = []] = advised;
  t.equal(advised.length, 1, 'a refusal is no failure');
  t.equal(advice, Linux.MADV_HUGEPAGE);
  t.ok(address! >= 0x7f0000000010 && address! + length! <= 0x7f0000000010 + 16 * MIB, 'nothing outside');
  t.equal(address! % 65536, 0);
  t.equal(length! % 65536, 0);
  t.ok(length! >= 16 * MIB - 2 * 65536);
});

t.test('memory keeps what is in it', { skip: platform() !== 'linux' && 'Linux only' }, async (t) => {
  const ask = await loadLargePages();
  const memory = new SharedArrayBuffer(16 * MIB);
  const words = new Int32Array(memory);
  words.fill(7, 1000, 2000);
  ask!(memory);
  t.ok(words.subarray(1000, 2000).every((word) => word === 7));
  words[words.length - 1] = 9;
  t.equal(words.at(-1), 9);
  t.equal(words[0], 0);
});
