/** A connection of a client over HTTP/2 whose other side is a test, frame by frame. */
import { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { SystemClock } from '../../../src/base/clock.js';
import { FurtherRequests } from '../../../src/base/connections/in-turns.js';
import type { ClientEvents } from '../../../src/edge/exchange/client-response.js';
import { createOpenStreams } from '../../../src/edge/exchange/open-streams.js';
import { createStalls } from '../../../src/edge/exchange/stalls.js';
import { ClientConnection, type ClientConnectionOptions } from '../../../src/edge/http2/client-connection.js';
import type { ClientStream } from '../../../src/edge/http2/client-stream.js';
import { FLAG, FRAME, type Frame, FrameReader, frame, PREFACE, settings } from '../../../src/edge/http2/frames.js';
import { writeBlock } from '../../../src/edge/http2/hpack.js';
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
  options: Partial<ClientConnectionOptions> = {},
) {
  const sent: Frame[] = [];
  const reader = new FrameReader((each) => sent.push({ ...each, payload: Buffer.from(each.payload) }));
  const line = new Line((octets) => reader.feed(octets));
  line.on('error', () => {});
  const floods: string[] = [];
  const connection = connectionOver(line as unknown as TLSSocket, onRequest, {
    onFlood: (kind) => floods.push(kind),
    ...options,
  });
  t.teardown(() => line.destroy());
  line.push(first);
  const of = (type: number): Frame[] => sent.filter((each) => each.type === type);
  return { connection, line, sent, floods, of };
}

export function connectionOver(
  socket: TLSSocket,
  onRequest: (stream: ClientStream) => void,
  options: Partial<ClientConnectionOptions> = {},
): ClientConnection {
  const { clock = new SystemClock() } = options;
  const stalls = createStalls(clock);
  return new ClientConnection(socket, {
    ...{
      clock,
      stalls,
      client: 'a',
      shares: createWindowShares(),
      open: createOpenStreams(),
      prefaceMs: 60_000,
      idleMs: 60_000,
      further: new FurtherRequests(512),
    },
    onRequest,
    onFlood: () => {},
    onClose: () => stalls.close(),
    onFault: (error) => {
      throw error;
    },
    ...options,
  });
}

export const FIELDS = [':method', 'GET', ':scheme', 'https', ':authority', 'a.test', ':path', '/'] as const;
const POST = [':method', 'POST', ...FIELDS.slice(2)];
export const get = (stream: number): Buffer => frame(FRAME.headers, 5, stream, writeBlock(FIELDS, false));
export const post = (stream: number, more: readonly string[] = []): Buffer =>
  frame(FRAME.headers, FLAG.endHeaders, stream, writeBlock([...POST, ...more], false));
const ended: ClientEvents = { drained() {}, closed() {} };
/** Answers at once, as a whole. */
export const answer = (body: Buffer) => (stream: ClientStream) => {
  stream.watch(ended);
  stream.head(200, ['content-length', String(body.length)], []);
  stream.end(body, []);
};
