/** Memory of several edge processes, all of which are in this one. */
import { KEY_OCTETS, partOffset, type SharedMemory } from '../../../src/edge/shared/counts.js';
import { seededRandom } from '../../support/seeded-random.js';

/** The view of each process. */
export function sharedMemory(processes: number): SharedMemory[] {
  const octets = new Uint8Array(partOffset(processes));
  octets.set(seededRandom(1).bytes(KEY_OCTETS));
  const words = new Int32Array(octets.buffer);
  return Array.from({ length: processes }, (_, process) => ({ words, process, processes }));
}
