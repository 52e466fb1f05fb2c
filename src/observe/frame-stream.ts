/**
 * Frame streams (the fstrm protocol): to a file, or over a Unix socket with its handshake. Frames that a slow reader
 * does not take are dropped and counted; nobody waits.
 *
 * A control frame is a length of 0, then its own length, its type and fields, all as four octets in network order.
 */
import { closeSync, existsSync, openSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Clock } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import type { Logger } from '../base/log.js';

const Control = { accept: 1, start: 2, stop: 3, ready: 4, finish: 5 } as const;
const CONTENT_TYPE_FIELD = 1;
const LONGEST_CONTROL = 512;
/** Octets that may wait for a reader. */
const MOST_WAITING = 4 * 1024 * 1024;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;
/** Time for the handshake and, at the end, for the reader's last word. */
const ANSWER_MS = 2000;

export interface FrameStream {
  /** Whole frames, with their lengths; `count` of them. */
  write(frames: Uint8Array, count: number): void;
  /** Frames that nobody took. */
  dropped(): number;
  /** Begins a new file. */
  reopen(): void;
  /** Resolves when the stream is ended. */
  close(): Promise<void>;
}

function controlFrame(type: number, contentType?: string): Buffer {
  const text = Buffer.from(contentType ?? '');
  const fields = contentType === undefined ? 0 : 8 + text.length;
  const frame = Buffer.alloc(12 + fields);
  frame.writeUInt32BE(4 + fields, 4);
  frame.writeUInt32BE(type, 8);
  if (fields > 0) {
    frame.writeUInt32BE(CONTENT_TYPE_FIELD, 12);
    frame.writeUInt32BE(text.length, 16);
    text.copy(frame, 20);
  }
  return frame;
}

/** A file, which is begun anew; what it holds from before is kept as `.1`. Throws a UserError when it cannot be written. */
export function openFrameFile(path: string, contentType: string, log: Logger): FrameStream {
  let descriptor: number | undefined;
  let dropped = 0;
  const begin = (): void => {
    if (existsSync(path) && statSync(path).size > 0) renameSync(path, `${path}.1`);
    descriptor = openSync(path, 'w', 0o640);
    writeFileSync(descriptor, controlFrame(Control.start, contentType));
  };
  const end = (): void => {
    if (descriptor === undefined) return;
    writeFileSync(descriptor, controlFrame(Control.stop));
    closeSync(descriptor);
    descriptor = undefined;
  };
  const guarded = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      log.error({ path, reason: messageOf(error) }, 'dnstap cannot be written');
      descriptor = undefined;
    }
  };
  try {
    begin();
  } catch (error) {
    throw new UserError(`${path} cannot be written: ${messageOf(error)}`, 'Choose another file for --dnstap.');
  }
  return {
    write(frames, count) {
      if (descriptor === undefined) dropped += count;
      else guarded(() => writeFileSync(descriptor!, frames));
    },
    dropped: () => dropped,
    reopen() {
      guarded(end);
      guarded(begin);
    },
    close: async () => guarded(end),
  };
}

/** A Unix socket at which a reader listens. Connects again whenever the reader went away. */
export function openFrameSocket(path: string, contentType: string, clock: Clock, log: Logger): FrameStream {
  let socket: Socket | undefined;
  let cancel = (): void => {};
  let failures = 0;
  let dropped = 0;
  let closed = false;
  let finished = (): void => {};

  const open = (): void => {
    const fresh = connect(path);
    fresh.unref();
    const handshake = clock.after(ANSWER_MS, () => fresh.destroy());
    readControl(fresh, (type) => {
      if (type === Control.accept && socket === undefined) {
        handshake();
        fresh.write(controlFrame(Control.start, contentType));
        socket = fresh;
        failures = 0;
        log.info({ path }, 'dnstap is connected');
      } else if (type === Control.finish) {
        fresh.destroy();
      }
    });
    fresh.once('connect', () => fresh.write(controlFrame(Control.ready, contentType)));
    fresh.on('error', (error) => {
      if (failures === 0) log.warn({ path, reason: messageOf(error) }, 'no reader takes dnstap; it is tried again');
    });
    fresh.once('close', () => {
      handshake();
      socket = undefined;
      finished();
      if (closed) return;
      cancel = clock.after(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10)), open);
      failures += 1;
    });
  };
  open();

  return {
    write(frames, count) {
      if (socket === undefined || socket.writableLength > MOST_WAITING) dropped += count;
      else socket.write(frames);
    },
    dropped: () => dropped,
    reopen: () => {},
    async close() {
      closed = true;
      cancel();
      if (!socket) return;
      const last = socket;
      const end = new Promise<void>((resolve) => {
        finished = resolve;
        clock.after(ANSWER_MS, resolve);
      });
      last.write(controlFrame(Control.stop));
      await end;
      last.destroy();
    },
  };
}

/** Calls `take` with the type of each control frame. A peer that sends anything else is cut off. */
function readControl(socket: Socket, take: (type: number) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 8) {
      const length = rest.readUInt32BE(4);
      if (rest.readUInt32BE(0) !== 0 || length < 4 || length > LONGEST_CONTROL) {
        socket.destroy();
        return;
      }
      if (rest.length < 8 + length) return;
      const type = rest.readUInt32BE(8);
      rest = rest.subarray(8 + length);
      take(type);
    }
  });
}
