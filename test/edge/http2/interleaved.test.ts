/** Connections that are read from one buffer, and written from one: each has its own octets, wherever its frames are divided. */
import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { FLAG, FRAME, FrameReader, frame, PREFACE, settings } from '../../../src/edge/http2/frames.js';
import { writeBlock } from '../../../src/edge/http2/hpack.js';
import { openTlsPairs } from '../../plain/tls-pairs.js';
import { connectionOver } from './client-line.js';

const FIELDS = [':method', 'POST', ':scheme', 'https', ':authority', 'a.example', ':path', '/'];
const BODY = 16_384;
const REQUESTS = 3;

t.test('bodies that come in pieces, and go back', async (t) => {
  const openPair = await openTlsPairs(t);
  const open = async (mark: string) => {
    const { far, near } = await openPair();
    const sockets = connectionOver(near, (stream) => {
      const pieces: Buffer[] = [];
      stream.watch({ drained() {}, closed() {} });
      stream.body!.on('data', (piece: Buffer) => pieces.push(piece));
      stream.body!.on('end', () => {
        stream.head(200, [], []);
        stream.pass(Buffer.concat(pieces), true);
      });
    });
    const got: Buffer[] = [];
    let ends = 0;
    const reader = new FrameReader(({ type, flags, payload }) => {
      if (type !== FRAME.data) return;
      got.push(Buffer.from(payload));
      if (flags & FLAG.endStream && ++ends === REQUESTS) far.emit('all');
    });
    far.on('data', (octets: Buffer) => reader.feed(octets));
    const all = once(far, 'all');
    const parts = [PREFACE, settings([])];
    const bodies: Buffer[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      bodies.push(Buffer.alloc(BODY, `${mark}${i}`));
      const block = writeBlock(FIELDS, i === 0);
      parts.push(frame(FRAME.headers, FLAG.endHeaders, 2 * i + 1, block));
      parts.push(frame(FRAME.data, FLAG.endStream, 2 * i + 1, bodies[i]!));
    }
    return { far, sockets, got, all, octets: Buffer.concat(parts), body: Buffer.concat(bodies) };
  };
  const ends = [await open('a'), await open('b')];
  // In pieces that end anywhere: within heads of frames, blocks, and bodies.
  for (let at = 0, length = 1; at < ends[0]!.octets.length; at += length, length = 1 + ((length * 7919) % 6007)) {
    for (const { far, octets } of ends) far.write(octets.subarray(at, at + length));
    await turn();
  }
  for (const { all, got, body } of ends) {
    await all;
    t.ok(Buffer.concat(got).equals(body));
  }
  for (const { sockets } of ends) sockets.destroy();
});
