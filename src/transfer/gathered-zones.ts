/** What is written for single zones, gathered. */
import { messageOf } from '../base/errors.js';
import { betweenWrites } from '../base/slices.js';
import type { Store } from '../store/driver.js';

/** Zones that are written together. */
const ZONES_AT_ONCE = 100;

/**
 * Writes something for each zone (store number), soon: while a write is under way, the zones that are told gather for the next one. Each
 * commit waits for the disk, and whoever has thousands of zones could cause thousands of them a second.
 */
export function gatherZones(
  store: Pick<Store, 'write'>,
  write: (zone: number) => void,
  onFailure: (reason: string) => void,
): (zone: number) => void {
  const waiting = new Set<number>();
  let isWriting = false;
  const writeNext = async (): Promise<void> => {
    const zones = [...waiting].slice(0, ZONES_AT_ONCE);
    for (const zone of zones) waiting.delete(zone);
    const work = (): void => {
      for (const zone of zones) write(zone);
    };
    await store.write(work).catch((error: unknown) => onFailure(messageOf(error)));
    await betweenWrites();
  };
  const writeAll = async (): Promise<void> => {
    isWriting = true;
    while (waiting.size > 0) await writeNext();
    isWriting = false;
  };
  return (zone) => {
    waiting.add(zone);
    if (!isWriting) void writeAll();
  };
}
