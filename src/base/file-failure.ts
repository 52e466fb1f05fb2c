/** Failures of the file system that an operator can mend, as sentences. */
import { messageOf, UserError } from './errors.js';

const OWNERSHIP = 'Check the owner and mode of the file and of the directories above it.';
const SPACE = 'Free space on that file system.';
const NAME = 'Check the name.';

/** EDQUOT on Linux, for which Node has no code. */
const QUOTA_EXCEEDED = -122;

/** Codes of a disk, a quota or a limit on the size of files that takes no more. */
const FULL: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Whether no more could be written. */
export function isFull(error: unknown): boolean {
  const { code, errno } = error as NodeJS.ErrnoException;
  return FULL.has(code ?? '') || errno === QUOTA_EXCEEDED;
}

/** By the code of the system's error. */
const WORDS: ReadonlyMap<string, readonly [reason: string, remedy: string]> = new Map([
  ['EACCES', ['this user may not do that', OWNERSHIP]],
  ['EPERM', ['this user may not do that', OWNERSHIP]],
  ['EROFS', ['its file system is read-only', 'Choose a place that can be written to.']],
  ['ENOSPC', ['no space is left', SPACE]],
  ['EFBIG', ['it would become larger than is allowed', 'Raise the limit on the size of files (`ulimit -f`).']],
  ['EIO', ['the disk reports an error', 'Look into the log of the kernel.']],
  ['ENOENT', ['it does not exist', NAME]],
  ['ENOTDIR', ['a part of its path is not a directory', NAME]],
  ['EISDIR', ['it is a directory', NAME]],
  ['EEXIST', ['it exists already', 'Choose another name.']],
  ['ENAMETOOLONG', ['its name is too long', NAME]],
  ['ELOOP', ['its path has too many symbolic links', NAME]],
  ['EMFILE', ['this process has too many open files', 'Raise the limit, such as with `ulimit -n 4096`.']],
  [`errno ${QUOTA_EXCEEDED}`, ['no space is left for this user', SPACE]],
  ['ENFILE', ['the system has too many open files', 'Raise the limit, such as with `sysctl fs.file-max`.']],
]);

/** A UserError for an error of a system call on a file; any other value unchanged. `file`: for errors that do not name it. */
export function explainFileFailure(error: unknown, file?: string): unknown {
  if (!(error instanceof Error)) return error;
  const { code = '', errno, syscall, path = file } = error as NodeJS.ErrnoException;
  const words = syscall === undefined ? undefined : (WORDS.get(code) ?? WORDS.get(`errno ${errno}`));
  if (!words) return error;
  const [reason, remedy] = words;
  const what = path === undefined ? `a file cannot be used (${messageOf(error)})` : `${path} cannot be used`;
  return new UserError(`${what}: ${reason} (${code})`, remedy);
}
