/**
 * Where master keys come from: a setting, or a file in the data directory that the first start makes. The first key seals; those
 * after it only open what was sealed before. The file holds a key a line, in hexadecimal digits or base 64.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { parseOctets, toHex } from '../base/bytes.js';
import { UserError } from '../base/errors.js';
import { MASTER_KEY_OCTETS } from './envelope.js';

export interface MasterKeys {
  /** The file, or the setting as its operator knows it. */
  readonly place: string;
  /** At least one; undefined when the file does not exist. Throws a UserError when what is there cannot be used. */
  read(): readonly Uint8Array[] | undefined;
  /** Puts other keys in their place, durably and at one stroke; absent where that is up to the operator. */
  readonly replace?: (keys: readonly Uint8Array[]) => void;
}

/** Master keys of a setting, which change only when the program is started anew. */
export function settingKeys(keys: readonly Uint8Array[], place: string): MasterKeys {
  return { place, read: () => keys };
}

/** Most octets that are read of a file of keys. */
const MOST_OCTETS = 16 * 1024;

/** Master keys in a file of mode 0600. */
export function fileKeys(path: string): MasterKeys {
  return { place: path, read: () => readKeys(path), replace: (keys) => writeKeys(path, keys) };
}

function readKeys(path: string): readonly Uint8Array[] | undefined {
  let file: number;
  try {
    // Not to wait for a writer where somebody has put a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new UserError(
      `the master key ${path} cannot be read (${code})`,
      `Run this as the user that runs zoneplane, to whom the file must belong.`,
    );
  }
  try {
    requirePrivate(path, fstatSync(file));
    return parseKeys(path, readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

function requirePrivate(path: string, stat: Stats): void {
  const { mode, uid, size } = stat;
  if (!stat.isFile() || size > MOST_OCTETS) throw unusable(path);
  const user = process.geteuid?.();
  if (user !== undefined && uid !== user) {
    throw new UserError(
      `the master key ${path} belongs to user ${uid}, but zoneplane runs as user ${user}`,
      `Run this as user ${uid}, or give the file to the user that runs zoneplane: chown ${user} ${path}`,
    );
  }
  if ((mode & 0o077) !== 0) {
    throw new UserError(
      `the master key ${path} is open to other users (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`,
      `chmod 600 ${path}; then replace the key with \`zoneplane vault rotate\` if others may have read it.`,
    );
  }
}

function parseKeys(path: string, text: string): readonly Uint8Array[] {
  const lines = text.split(/\r?\n/).filter((line) => line !== '');
  const keys = lines.flatMap((line) => parseOctets(line, MASTER_KEY_OCTETS) ?? []);
  if (keys.length === 0 || keys.length !== lines.length) throw unusable(path);
  return keys;
}

function unusable(path: string): UserError {
  return new UserError(
    `${path} is no master key: it must hold ${MASTER_KEY_OCTETS} octets, as ${2 * MASTER_KEY_OCTETS} hexadecimal digits or in base 64`,
    'Put the file back from where you keep a copy of it. Remove it only if you have never sealed anything with it.',
  );
}

/** Whoever reads the file meanwhile, or after a crash at any step, finds the old keys or the new ones. */
function writeKeys(path: string, keys: readonly Uint8Array[]): void {
  const draft = `${path}.new`;
  try {
    rmSync(draft, { force: true });
    const file = openSync(draft, 'wx', 0o600);
    try {
      fchmodSync(file, 0o600);
      writeFileSync(file, keys.map((key) => `${toHex(key)}\n`).join(''));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
    syncDirectory(dirname(path));
  } catch (error) {
    throw new UserError(
      `the master key ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`,
      'Check the owner and mode of the data directory, and that there is room on its file system.',
    );
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
