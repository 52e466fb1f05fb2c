/** A source is read to its end although nobody takes what it gives, and nothing stays open. */
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { readAhead, textSource } from '../../src/base/read-ahead.js';
import { until } from '../support/until.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-read-ahead-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));
const LINES = 20_000;
const line = (i: number): string => `${i} ${'é'.repeat(60)}\n`;

interface Source {
  readonly texts: AsyncGenerator<string>;
  given: number;
  isClosed: boolean;
}

function open(failAt = Number.POSITIVE_INFINITY): Source {
  const source: Source = { texts: give(), given: 0, isClosed: false };
  async function* give(): AsyncGenerator<string> {
    try {
      for (let i = 0; i < LINES; i++) {
        if (i === failAt) throw new RangeError('the source failed');
        source.given++;
        yield line(i);
      }
    } finally {
      source.isClosed = true;
    }
  }
  return source;
}

function openFiles(): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(directory);
    } catch {
      return false;
    }
  }).length;
}

t.test('a reader that takes one piece and then nothing', async (t) => {
  const source = open();
  const pieces = readAhead(textSource(source.texts), directory);
  const first = Buffer.from((await pieces.next()).value as Uint8Array);
  await until(async () => source.isClosed);
  t.equal(source.given, LINES, 'the source was read to its end');
  t.strictSame(readdirSync(directory), [], 'the file has no name');
  t.equal(openFiles(), 1);
  const rest: Uint8Array[] = [first];
  const memory = new Set<ArrayBufferLike>();
  for await (const piece of pieces) {
    rest.push(Buffer.from(piece));
    memory.add(piece.buffer);
  }
  const whole = Array.from({ length: LINES }, (_, i) => line(i)).join('');
  t.equal(Buffer.concat(rest).toString(), whole, 'everything comes, in order');
  t.ok(rest.length > memory.size && memory.size <= 4, `${rest.length} pieces in ${memory.size} buffers`);
  t.equal(openFiles(), 0);
});

t.test('a reader that leaves ends the source', async (t) => {
  const source = open();
  const pieces = readAhead(textSource(source.texts), directory);
  await pieces.next();
  await pieces.return(undefined);
  t.ok(source.isClosed);
  t.equal(openFiles(), 0);
});

t.test('a source that fails', async (t) => {
  await t.rejects(readAhead(textSource(open(0).texts), directory).next(), RangeError);
  const pieces = readAhead(textSource(open(10_000).texts), directory);
  let octets = 0;
  await t.rejects(async () => {
    for await (const piece of pieces) octets += piece.length;
  }, RangeError);
  t.ok(octets > 0, 'after what came before');
  t.equal(openFiles(), 0);
});
