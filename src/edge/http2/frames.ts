/** Frames of HTTP/2 (RFC 9113 §4 and §6). Pure. */
import { kept } from '../../plain/shared-reads.js';

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

export const CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  enhanceYourCalm: 11,
} as const;

export const SETTING = {
  enablePush: 2,
  mostStreams: 3,
  initialWindow: 4,
  frameOctets: 5,
  listOctets: 6,
  connectProtocol: 8,
} as const;

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
/** The largest payload that both sides take, unless they say otherwise. */
export const MOST_PAYLOAD = 16_384;
export const LARGEST_WINDOW = 2 ** 31 - 1;
export const FIRST_WINDOW = 65_535;
export const HEAD_OCTETS = 9;

/** The other side breaks the protocol: the connection ends with this code (RFC 9113 §5.4.1). */
export class ConnectionError extends Error {
  constructor(
    readonly http2Code: number,
    message: string,
  ) {
    super(message);
  }
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Divides what arrives into frames. */
export class FrameReader {
  /** The beginning of a frame, as it arrived. */
  private pieces: Buffer[] = [];
  private octets = 0;
  /** Octets until it can be read. */
  private needed = 0;

  constructor(private readonly onFrame: (frame: Frame) => void) {}

  /** Frames that it passes on refer to `octets`. Throws a {@link ConnectionError}. */
  feed(octets: Buffer): void {
    const all = this.octets === 0 ? octets : this.joined(octets);
    if (!all) return;
    let at = 0;
    let needed = HEAD_OCTETS;
    while (all.length - at >= HEAD_OCTETS) {
      const length = (all[at]! << 16) | (all[at + 1]! << 8) | all[at + 2]!;
      if (length > MOST_PAYLOAD) throw new ConnectionError(CODE.frameSize, `a frame of ${length} octets`);
      const end = at + HEAD_OCTETS + length;
      if (end > all.length) {
        needed = HEAD_OCTETS + length;
        break;
      }
      this.onFrame({
        type: all[at + 3]!,
        flags: all[at + 4]!,
        stream: all.readUInt32BE(at + 5) & LARGEST_WINDOW,
        payload: all.subarray(at + HEAD_OCTETS, end),
      });
      at = end;
    }
    if (at < all.length) this.keep(all.subarray(at), needed);
  }

  private keep(octets: Buffer, needed: number): void {
    // A copy, because a piece may be a small part of much memory.
    this.pieces = [Buffer.from(octets)];
    this.octets = octets.length;
    this.needed = needed;
  }

  /** Undefined if more is needed. A frame may arrive octet by octet, so the pieces are joined once. */
  private joined(octets: Buffer): Buffer | undefined {
    this.pieces.push(kept(octets));
    this.octets += octets.length;
    if (this.octets < this.needed) return undefined;
    const all = Buffer.concat(this.pieces, this.octets);
    this.pieces = [];
    this.octets = 0;
    return all;
  }
}

export function frame(type: number, flags: number, stream: number, ...payload: readonly Buffer[]): Buffer {
  const length = payload.reduce((octets, part) => octets + part.length, 0);
  return Buffer.concat([frameHead(type, flags, stream, length), ...payload]);
}

/** `length`: octets of the payload, which follows. */
export function frameHead(type: number, flags: number, stream: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(HEAD_OCTETS);
  head[0] = length >>> 16;
  head[1] = length >>> 8;
  head[2] = length;
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return head;
}

export function settings(values: readonly (readonly [setting: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * values.length);
  for (const [i, [setting, value]] of values.entries()) {
    payload.writeUInt16BE(setting, 6 * i);
    payload.writeUInt32BE(value, 6 * i + 2);
  }
  return frame(FRAME.settings, 0, 0, payload);
}

/** Pairs of setting and value. Throws a {@link ConnectionError}. */
export function readSettings({ payload }: Frame): [setting: number, value: number][] {
  if (payload.length % 6 !== 0) throw new ConnectionError(CODE.frameSize, 'settings of a wrong length');
  const values: [number, number][] = [];
  for (let at = 0; at < payload.length; at += 6) {
    values.push([payload.readUInt16BE(at), payload.readUInt32BE(at + 2)]);
  }
  return values;
}

export function number(value: number): Buffer {
  const octets = Buffer.allocUnsafe(4);
  octets.writeUInt32BE(value);
  return octets;
}

export function readNumber({ payload }: Frame, length = 4): number {
  if (payload.length !== length) throw new ConnectionError(CODE.frameSize, 'a frame of a wrong length');
  return payload.readUInt32BE(length - 4);
}

/** The block of HEADERS or the data of DATA, without padding and priority. Throws a {@link ConnectionError}. */
export function contentOf({ type, flags, payload }: Frame): Buffer {
  let from = 0;
  let padding = 0;
  if (flags & FLAG.padded) {
    padding = payload[0] ?? 0;
    from = 1;
  }
  if (type === FRAME.headers && flags & FLAG.priority) from += 5;
  const end = payload.length - padding;
  if (end < from) throw new ConnectionError(CODE.protocol, 'padding longer than its frame');
  return payload.subarray(from, end);
}
