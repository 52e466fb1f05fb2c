/**
 * The memory in which the edge processes of a machine count together: a file without a name, in memory where the system has a directory
 * for that. The processes inherit its descriptor and map it.
 */
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../base/errors.js';
import type { Random } from '../../base/random.js';
import { KEY_OCTETS, PART_OCTETS, partOffset, type SharedMemory } from '../../edge/shared/counts.js';
import { Linux, loadSyscalls, SyscallsUnavailable, SystemError } from '../../server/syscalls.js';
import type { EdgeMember } from '../process/ipc.js';

const IN_MEMORY = '/dev/shm';
/** The first descriptor behind those that every child has: 0 to 2, and that of its messages. */
const INHERITED_FD = 4;
const HIGHEST_ADDRESS = 2 ** 48;

export interface EdgeMemory {
  readonly fd: number;
  /** Forgets what a process (from 0 on) has counted, after its end. */
  clear(process: number): void;
  /** The processes keep it. */
  close(): void;
}

/** Where there is no room in memory that files may have, as in a small container, it is in the data directory. */
export function createEdgeMemory(dataDir: string, processes: number, random: Random): EdgeMemory {
  try {
    return createIn(IN_MEMORY, processes, random);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    return createIn(dataDir, processes, random);
  }
}

function createIn(directory: string, processes: number, random: Random): EdgeMemory {
  const fd = openNameless(directory);
  try {
    writeSync(fd, random.bytes(KEY_OCTETS), 0, KEY_OCTETS, 0);
    // A process that touches a page for which there is no room is ended by the system: all of it is there from now on.
    for (let process = 0; process < processes; process++) clearPart(fd, process);
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  let isOpen = true;
  return {
    fd,
    clear: (process) => clearPart(fd, process),
    close() {
      if (isOpen) closeSync(fd);
      isOpen = false;
    },
  };
}

function clearPart(fd: number, process: number): void {
  const written = writeSync(fd, new Uint8Array(PART_OCTETS), 0, PART_OCTETS, partOffset(process));
  if (written < PART_OCTETS) throw Object.assign(new Error('there is no room for shared counts'), { code: 'ENOSPC' });
}

function openNameless(parent: string): number {
  const directory = mkdtempSync(join(parent, 'zoneplane-edge-'));
  try {
    return openSync(join(directory, 'counts'), 'wx+', 0o600);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The side of an edge process. It stays mapped until the process ends. */
export async function mapEdgeMemory({ number, of }: EdgeMember): Promise<SharedMemory> {
  try {
    const calls = await loadSyscalls();
    const length = partOffset(of);
    const address = calls.mmap(0, length, Linux.PROT_READ_WRITE, Linux.MAP_SHARED, INHERITED_FD, 0);
    if (address > HIGHEST_ADDRESS) throw new SystemError('mmap', calls.errno());
    return { words: new Int32Array(calls.viewOf(address, length)), process: number - 1, processes: of };
  } catch (error) {
    if (!(error instanceof SyscallsUnavailable) && !(error instanceof SystemError)) throw error;
    throw new UserError(`several edge processes cannot count together: ${error.message}`, 'Set --edge-processes to 1.');
  }
}
