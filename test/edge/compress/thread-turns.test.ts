/** Encoders work in turns by account, and leave a thread to others. */
import { promises as files } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { Encoders } from '../../../src/edge/compress/encoders.js';
import { createThreadTurns } from '../../../src/edge/compress/thread-turns.js';

const BODY = Buffer.from(Array.from({ length: 16_384 }, (_, i) => `${(i * 7919) % 1000} `).join(''));

t.test('three work at once, and each account has its turn', (t) => {
  const turns = createThreadTurns();
  const begun: number[] = [];
  const leaves: (() => void)[] = [];
  const enter = (account: number): void =>
    turns.enter({
      account,
      start(leave) {
        begun.push(account);
        leaves.push(leave);
      },
    });
  for (const account of [1, 1, 1, 1, 1, 1, 2, 3, 3]) enter(account);
  t.strictSame(begun, [1, 1, 1]);
  for (let n = 0; n < 6; n++) {
    leaves[n]!();
    leaves[n]!();
  }
  t.strictSame(begun, [1, 1, 1, 1, 2, 3, 1, 3, 1], 'and nobody gives a turn back twice');
  for (const leave of leaves) leave();
  enter(4);
  t.equal(begun.at(-1), 4);
  t.end();
});

t.test('one account that compresses much keeps neither others nor files waiting for long', async (t) => {
  const encoders = new Encoders(new SystemClock());
  let ended = 0;
  const compress = (account: number): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const pieces: Buffer[] = [];
      const encoder = encoders.begin(
        ...([account, 'gzip', BODY.length] as const),
        {
          onData: (piece) => void pieces.push(piece),
          onDrain() {},
          onError: reject,
          onEnd() {
            ended++;
            resolve(Buffer.concat(pieces));
          },
        },
        () => {},
      );
      encoder.end(BODY);
    });
  const many = Array.from({ length: 100 }, () => compress(1));
  let before: readonly number[] = [];
  const other = compress(2).then((body) => {
    before = [...before, ended];
    return body;
  });
  await Promise.all([other, files.readFile(import.meta.filename).then(() => (before = [...before, ended]))]);
  for (const count of before) t.ok(count < 50, `${count} others were ready before`);
  for (const body of [...(await Promise.all(many)), await other]) t.ok(gunzipSync(body).equals(BODY));
});

t.test('whoever is destroyed, at work or in the queue, keeps no turn', async (t) => {
  const encoders = new Encoders(new SystemClock());
  const begin = (onEnd: () => void) =>
    encoders.begin(1, 'gzip', undefined, { onData() {}, onDrain() {}, onError() {}, onEnd }, () => {});
  for (let n = 0; n < 20; n++) {
    const encoder = begin(() => {});
    encoder.write(BODY);
    encoder.destroy();
  }
  await new Promise<void>((resolve) => begin(resolve).end(BODY));
  t.pass('the next one works');
});
