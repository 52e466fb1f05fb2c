/** Whether this machine has the system calls for batches of datagrams. */
import { loadSyscalls, SyscallsUnavailable } from '../../src/server/syscalls.js';

/** What a test says when it is skipped; false: it runs. */
export async function whyNoSyscalls(): Promise<string | false> {
  try {
    await loadSyscalls();
    return false;
  } catch (error) {
    if (error instanceof SyscallsUnavailable) return error.message;
    throw error;
  }
}
