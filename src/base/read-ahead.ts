/** Reads a source at its own speed, and lets a slow reader take what was read from a file. */
import { closeSync, openSync, read, rmSync, write } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const writeFile = promisify(write);
const readFile = promisify(read);
/** Octets that are written, and that are read, at once. */
const PIECE = 256 * 1024;
const PIECE_READ = 128 * 1024;
/**
 * Buffers of one reader, which are reused: allocating a new one for each piece would cause long full garbage collections.
 */
const BUFFERS = 4;

let files = 0;

/** Appends to a file, and yields after each part how many octets it has. When it is ended early, it appends no more. */
export type Source = (fd: number) => AsyncGenerator<number>;

/**
 * The octets of a source. It is read to its end without waiting for whoever reads here, so that what it holds, such as a snapshot of
 * the database, is let go soon. What was read meanwhile is in a file of `directory` that disappears when it is closed, also by a
 * crash. Errors of the source are thrown after what came before them. A piece stays valid until the third one after it is taken:
 * a stream processes one and queues another.
 */
export async function* readAhead(source: Source, directory: string): AsyncGenerator<Uint8Array> {
  const fd = openNameless(directory);
  const state: State = { written: 0, isDone: false, failure: undefined, isEnded: false, wake: () => {} };
  const filling = fill(source, fd, state);
  try {
    const buffers: Buffer[] = [];
    for (let at = 0, count = 0; ; ) {
      if (at < state.written) {
        const buffer = (buffers[count % BUFFERS] ??= Buffer.allocUnsafeSlow(PIECE_READ));
        count++;
        const piece = buffer.subarray(0, Math.min(PIECE_READ, state.written - at));
        const { bytesRead } = await readFile(fd, piece, 0, piece.length, at);
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      } else if (state.isDone) {
        if (state.failure) throw state.failure.error;
        return;
      } else {
        await new Promise<void>((resolve) => (state.wake = resolve));
      }
    }
  } finally {
    state.isEnded = true;
    await filling;
    closeSync(fd);
  }
}

interface State {
  written: number;
  isDone: boolean;
  failure: { readonly error: unknown } | undefined;
  /** Nobody reads any more. */
  isEnded: boolean;
  wake: () => void;
}

async function fill(source: Source, fd: number, state: State): Promise<void> {
  try {
    for await (const octets of source(fd)) {
      state.written += octets;
      state.wake();
      if (state.isEnded) return;
    }
  } catch (error) {
    state.failure = { error };
  } finally {
    state.isDone = true;
    state.wake();
  }
}

/** Texts, in UTF-8. */
export function textSource(texts: AsyncGenerator<string>): Source {
  return async function* (fd) {
    for await (const text of inParts(texts)) {
      const octets = Buffer.from(text);
      for (let at = 0; at < octets.length; )
        at += (await writeFile(fd, octets, at, octets.length - at, null)).bytesWritten;
      yield octets.length;
    }
  };
}

/** Joins short texts to parts of a size that is worth a write. */
export async function* inParts(texts: AsyncGenerator<string>): AsyncGenerator<string> {
  let waiting: string[] = [];
  let length = 0;
  for await (const text of texts) {
    waiting.push(text);
    length += text.length;
    if (length < PIECE) continue;
    yield waiting.join('');
    waiting = [];
    length = 0;
  }
  if (length > 0) yield waiting.join('');
}

function openNameless(directory: string): number {
  const path = join(directory, `reading-${process.pid}-${++files}.spool`);
  rmSync(path, { force: true });
  const fd = openSync(path, 'wx+', 0o600);
  rmSync(path);
  return fd;
}
