/**
 * Large pages for memory that is read at random: with pages of 4 KiB, the processor waits for where a page is nearly as often as
 * for what is in it. Linux gives them where a program asks for them (Transparent Hugepage Support, `madvise`); if it does not, nothing
 * else changes.
 */
import { Linux, loadSyscalls, type Syscalls, SyscallsUnavailable } from '../../server/syscalls.js';

/** Asks for large pages for memory that nothing was written to yet. */
export type LargePages = (memory: SharedArrayBuffer) => void;

/** What is written first to a large page takes all of its 2 MiB; less memory than this would become much more. */
const LEAST = 16 << 20;
/** Large enough for all sizes of pages that processors have. */
const PAGE = 64 << 10;

export function largePages({ addressOf, madvise }: Pick<Syscalls, 'addressOf' | 'madvise'>): LargePages {
  return (memory) => {
    if (memory.byteLength < LEAST) return;
    const address = addressOf(memory);
    const from = Math.ceil(address / PAGE) * PAGE;
    const end = Math.floor((address + memory.byteLength) / PAGE) * PAGE;
    madvise(from, end - from, Linux.MADV_HUGEPAGE);
  };
}

/** Undefined where there are no such calls. */
export async function loadLargePages(): Promise<LargePages | undefined> {
  try {
    return largePages(await loadSyscalls());
  } catch (error) {
    if (error instanceof SyscallsUnavailable) return undefined;
    throw error;
  }
}
