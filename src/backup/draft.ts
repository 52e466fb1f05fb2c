/**
 * A directory in which something is made ready and then put in its places by renaming; the last rename is the one that counts.
 * What an interruption at any step leaves behind, the next attempt removes.
 */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeDirectories } from '../base/directories.js';
import { syncPath } from '../base/durable.js';
import { UserError } from '../base/errors.js';
import { acquireFileLock } from '../store/file-lock.js';

export interface Draft {
  /** Its files must be synced before they are put in their places, and its directories by {@link syncDirectories}. */
  readonly path: string;
  /** Renames all, in this order, and forces that to the disk. Nothing has changed when it throws. */
  place(moves: readonly Move[]): void;
  /** Removes what is left of it. Required. */
  discard(): void;
}

export interface Move {
  readonly from: string;
  readonly to: string;
}

const LOCK = 'lock';
/** There while the moves are being made. */
const MOVING = 'moving';

/**
 * `places`: all that will be put somewhere, the last one deciding. Throws a UserError when another process works at the same
 * draft.
 */
export function openDraft(path: string, places: readonly string[]): Draft {
  const decisive = places.at(-1)!;
  makeDirectories(path, 0o700);
  const lock = acquireFileLock(join(path, LOCK));
  if (!lock) throw new UserError(`another process is writing ${decisive}`, 'Wait until it has finished.');
  // A move is begun only where nothing of this name was, so what is there was put there by it.
  if (existsSync(join(path, MOVING)) && !existsSync(decisive)) removeAll(places);
  removeAll(readdirSync(path).flatMap((name) => (name === LOCK ? [] : join(path, name))));
  return {
    path,
    place: (moves) => place(path, moves),
    discard() {
      rmSync(path, { recursive: true, force: true });
      lock.release();
    },
  };
}

function place(path: string, moves: readonly Move[]): void {
  const directories = new Set(moves.map(({ to }) => dirname(to)));
  writeFileSync(join(path, MOVING), '');
  syncPath(path);
  const made: Move[] = [];
  try {
    for (const move of moves) {
      // The decisive one only after all others are on the disk.
      if (move === moves.at(-1)) for (const directory of directories) syncPath(directory);
      renameSync(move.from, move.to);
      made.push(move);
    }
    for (const directory of directories) syncPath(directory);
  } catch (error) {
    for (const { from, to } of made.toReversed()) renameSync(to, from);
    throw error;
  }
}

function removeAll(paths: readonly string[]): void {
  for (const path of paths) rmSync(path, { recursive: true, force: true });
}
