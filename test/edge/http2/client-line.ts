/** A connection of a client over HTTP/2 whose other side is a test, frame by frame. */
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { createStalls } from '../../../src/edge/exchange/stalls.js';
import { ClientConnection } from '../../../src/edge/http2/client-connection.js';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { type Frame, FrameReader, PREFACE, settings } from '../../../src/edge/http2/frames.js';
import { createWindowShares } from '../../../src/edge/http2/inbox-window.js';

/** A socket whose other side is the test. */
class Line extends Duplex {
  readonly encrypted = true;
  isStuck = false;
  writes = 0;
  private release: (() => void) | undefined;

  constructor(private readonly onWrite: (octets: Buffer) => void) {
    super();
  }

  override _read(): void {}

  override _write(octets: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.writes++;
    this.onWrite(octets);
    if (this.isStuck) this.release = done;
    else done();
  }

  loosen(): void {
    this.isStuck = false;
    this.release?.();
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }
}

/** `first`: what the client sends first. */
export function openConnection(
  onRequest: (stream: ClientStream) => void,
  first: Buffer = Buffer.concat([PREFACE, settings([])]),
) {
  const clock = new SystemClock();
  const stalls = createStalls(clock);
  const sent: Frame[] = [];
  const floods: string[] = [];
  const reader = new FrameReader((each) => sent.push({ ...each, payload: Buffer.from(each.payload) }));
  const line = new Line((octets) => reader.feed(octets));
  line.on('error', () => {});
  const connection = new ClientConnection(line as unknown as TLSSocket, {
    ...{ clock, stalls, client: 'a', shares: createWindowShares(), prefaceMs: 60_000, idleMs: 60_000 },
    onRequest,
    onFlood: (kind) => floods.push(kind),
    onClose: () => stalls.close(),
    onFault: (error) => {
      throw error;
    },
  });
  t.teardown(() => line.destroy());
  line.push(first);
  const of = (type: number): Frame[] => sent.filter((each) => each.type === type);
  return { connection, line, sent, floods, of };
}
