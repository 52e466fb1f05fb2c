/** Worker thread that takes sums of files; the other end is digests-aside.ts. */
import { parentPort, workerData } from 'node:worker_threads';
import { type Digest, digest } from './digest.js';
import type { DigestData, DigestOrder, DigestsTaken } from './digests-aside.js';

const { algorithms, begun } = workerData as DigestData;

parentPort!.on('message', ({ first, paths }: DigestOrder) => {
  const digests = paths.map((path, index) =>
    Atomics.exchange(begun, first + index, 1) === 0 ? take(path) : undefined,
  );
  const taken: DigestsTaken = { first, paths, digests };
  parentPort!.postMessage(taken);
});

/** Undefined: the other thread is to find it out. */
function take(path: string): Digest | undefined {
  try {
    return digest(path, algorithms);
  } catch {
    return undefined;
  }
}
