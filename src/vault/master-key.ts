/**
 * Sources of master keys: a setting, or a file in the data directory that the first start creates. The first key seals;
 * the others only open older values. The file holds one key on each line, in hexadecimal digits or base 64.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { parseOctets, toHex } from '../base/bytes.js';
import { writeDurably } from '../base/durable.js';
import { UserError } from '../base/errors.js';
import { MASTER_KEY_OCTETS } from './envelope.js';

export interface MasterKeys {
  /** The path of the file, or the setting's name for the operator. */
  readonly place: string;
  /** One or more keys; undefined when the file does not exist. Throws a UserError when the content cannot be used. */
  read(): readonly Uint8Array[] | undefined;
  /** Replaces the keys durably and atomically; absent when only the operator can replace them. */
  readonly replace?: (keys: readonly Uint8Array[]) => void;
}

/** Master keys from a setting, which change only when the program restarts. */
export function settingKeys(keys: readonly Uint8Array[], place: string): MasterKeys {
  return { place, read: () => keys };
}

/** The longest part of a key file that is read, in octets. */
const MOST_OCTETS = 16 * 1024;

/** Master keys in a file of mode 0600. */
export function fileKeys(path: string): MasterKeys {
  return { place: path, read: () => readKeys(path), replace: (keys) => writeKeys(path, keys) };
}

function readKeys(path: string): readonly Uint8Array[] | undefined {
  let file: number;
  try {
    // Avoids waiting for a writer if the path is a pipe.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new UserError(
      `the master key ${path} cannot be read (${code})`,
      `Run this as the user that runs zoneplane; that user must own the file.`,
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
    `${path} is not a master key: it must hold ${MASTER_KEY_OCTETS} octets, as ${2 * MASTER_KEY_OCTETS} hexadecimal digits or in base 64`,
    'Restore the file from your copy of it. Remove it only if you have never sealed anything with it.',
  );
}

/** A process that reads the file meanwhile, or after a crash at any step, finds either the old keys or the new ones. */
function writeKeys(path: string, keys: readonly Uint8Array[]): void {
  try {
    writeDurably(path, keys.map((key) => `${toHex(key)}\n`).join(''));
  } catch (error) {
    throw new UserError(
      `the master key ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`,
      'Check the owner and mode of the data directory, and the free space on its file system.',
    );
  }
}
