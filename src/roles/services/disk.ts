/**
 * Room on the disk of the data: the reserve of edits, and a file that keeps room for deletions. When others have filled the disk, such as
 * another program, that is given up, and what was refused is written; nothing but deletions is taken then, until there is room for the
 * file again.
 */
import { existsSync, rmSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { type Clock, sleep } from '../../base/clock.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import { createDiskRoom, type DiskRoom, type DiskSpace, diskSpaceOf, spareOctets } from '../../store/disk-room.js';
import { dataFile } from '../process/data-directory.js';
import type { RoleContext } from '../process/role.js';

type DiskContext = Pick<RoleContext, 'settings' | 'clock' | 'log'>;

const PIECE = 1 << 16;
const LOOK_MS = 30_000;

/** Gives the file up. False: there was none. */
export function giveUpSpare({ settings, log }: DiskContext): boolean {
  const path = dataFile(settings.dataDir, 'spare');
  if (!existsSync(path)) return false;
  try {
    rmSync(path);
  } catch (error) {
    log.error({ err: error }, 'the file that keeps room for deletions cannot be removed');
    return false;
  }
  log.warn({ path }, 'the disk is full; the room that is kept for deletions is used');
  return true;
}

/** Makes the file now and whenever there is room for it beside the reserve. */
function keepSpare(
  path: string,
  room: DiskRoom,
  { clock, space, log }: { clock: Clock; space: () => DiskSpace | undefined; log: Logger },
): () => void {
  let isMaking = false;
  const make = async (): Promise<void> => {
    const disk = space();
    const octets = disk && spareOctets(disk.octets);
    if (isMaking || !octets || existsSync(path) || !room.take(octets)) return;
    isMaking = true;
    try {
      await writeWhole(path, octets);
    } catch (error) {
      await rm(path, { force: true }).catch(() => {});
      log.warn({ err: error }, 'no room could be kept for deletions');
    } finally {
      isMaking = false;
    }
  };
  void make();
  return clock.every(LOOK_MS, () => void make());
}

/** Random octets, because file systems keep no room for zeros. */
async function writeWhole(path: string, octets: number): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for (let at = 0; at < octets; at += PIECE) {
      await file.write(systemRandom.bytes(PIECE));
      await sleep(0);
    }
  } finally {
    await file.close();
  }
}

export function startDiskRoom({ settings, clock, log }: DiskContext, lifecycle: Lifecycle): DiskRoom {
  const { dataDir } = settings;
  const spare = dataFile(dataDir, 'spare');
  const space = () => diskSpaceOf(dataDir);
  const room = createDiskRoom(clock, space);
  lifecycle.own('spare room', keepSpare(spare, room, { clock, space, log }), (end) => end());
  return room;
}
