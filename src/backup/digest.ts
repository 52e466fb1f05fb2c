/** Sums of files. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { UserError } from '../base/errors.js';

export type Algorithm = 'sha256' | 'md5';

export interface Digest {
  /** How long the file is. */
  readonly octets: number;
  /** In hexadecimal. */
  readonly sums: Readonly<Partial<Record<Algorithm, string>>>;
}

/** The buffer for reading files, one after the other. It is small enough for the cache of a processor. */
const piece = Buffer.allocUnsafeSlow(1 << 18);

/** Links and whatever else is not a file are refused. */
export function digest(path: string, algorithms: readonly Algorithm[]): Digest {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    if (!fstatSync(file).isFile()) {
      throw new UserError(`${path} is not a file`, 'Name the file that `zoneplane backup` wrote.');
    }
    const hashes = algorithms.map((algorithm) => createHash(algorithm));
    let octets = 0;
    for (;;) {
      const read = readSync(file, piece, 0, piece.length, octets);
      if (read === 0) break;
      octets += read;
      for (const hash of hashes) hash.update(piece.subarray(0, read));
    }
    return {
      octets,
      sums: Object.fromEntries(algorithms.map((algorithm, index) => [algorithm, hashes[index]!.digest('hex')])),
    };
  } finally {
    closeSync(file);
  }
}
