/** Writes files as a tar archive (POSIX.1-1988 ustar), which every tar reads. */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { open } from 'node:fs/promises';

export interface TarMember {
  /** At most 100 octets. */
  readonly name: string;
  readonly path: string;
}

const BLOCK = 512;
const PIECE = 1 << 20;
/** The largest number that the eleven octal digits of a header hold. */
const MOST_OCTAL = 8 ** 11 - 1;

/** The archive, piece by piece; each file is read while it is sent. */
export async function* tarOf(members: Iterable<TarMember>, modifiedMs: number): AsyncGenerator<Buffer> {
  for (const { name, path } of members) {
    const size = sizeOf(path);
    yield headerOf(name, size, modifiedMs);
    const file = await open(path, 'r');
    try {
      for (let at = 0; at < size; ) {
        const piece = Buffer.allocUnsafe(Math.min(PIECE, size - at));
        const { bytesRead } = await file.read(piece, 0, piece.length, at);
        if (bytesRead === 0) throw new Error(`${path} became shorter while it was read`);
        at += bytesRead;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
    yield Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function sizeOf(path: string): number {
  const file = openSync(path, 'r');
  try {
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

function headerOf(name: string, size: number, modifiedMs: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number): void => {
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  };
  header.write(name, 0, 100, 'utf8');
  octal(0o600, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  if (size <= MOST_OCTAL) octal(size, 124, 11);
  else {
    // Larger ones in binary, as GNU, BSD and POSIX.1-2001 readers take them.
    header[124] = 0x80;
    header.writeBigUInt64BE(BigInt(size), 128);
  }
  octal(Math.floor(modifiedMs / 1000), 136, 11);
  header.write('0', 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, octet) => total + octet, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\x00 `, 148, 'latin1');
  return header;
}
