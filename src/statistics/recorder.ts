/**
 * Collects what the DNS processes of this node were asked, and stores it every few minutes, a row for each zone and hour and one for each
 * zone and day. Nodes add to the same rows. What has not been stored is lost when the process ends at once.
 */
import { messageOf } from '../base/errors.js';
import { createTurnQueue, type TurnQueue } from '../base/lists/turn-queue.js';
import { betweenWrites } from '../base/slices.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { ActivityReport } from '../observe/report.js';
import type { ZoneTally } from '../observe/tally.js';
import type { Store } from '../store/driver.js';
import { DAY, findQueries, HOUR, putQueries } from '../store/zones/queries.js';
import { findZone, findZoneByName } from '../store/zones/zones.js';
import { addDetail, detailOf, noDetail, PENDING, type Pending, printDetail, readDetail, STORED } from './detail.js';
import { createOldRows } from './old-rows.js';
import { createHourShares, createRoom } from './shares.js';

export interface Statistics {
  add(report: Pick<ActivityReport, 'atMs' | 'tallies'>): void;
  /** What is not stored yet about a zone (store number). */
  pendingOf(zone: number): readonly Pending[];
  close(): Promise<void>;
}

const STORE_MS = 300_000;
/** The longest time for which the last write waits for the lock, or for the log of a cluster. */
const LAST_WRITE_MS = 2000;
/** Zones of one write. */
const ZONES_AT_ONCE = 20;
/** Characters that are stored at a time. Logs of writes contain all of them, so the rest waits for the next time. */
const MOST_CHARACTERS = 4 << 20;
/** Zones of all accounts that are not stored yet. */
const MOST_ZONES = 2000;

export function startStatistics({ store, clock, log }: Pick<ContextBase, 'store' | 'clock' | 'log'>): Statistics {
  const pending = new Map<string, Pending>();
  const shares = createHourShares(store);
  const removeOld = createOldRows(clock);
  /** What is being stored now. */
  let written: readonly Pending[] = [];
  let storing: Promise<void> | undefined;
  let hasFailed = false;

  const addTally = (tally: ZoneTally, begins: number, makeRoom: (account: number) => boolean): void => {
    const zone = findZoneByName(store, tally.zone);
    if (zone?.served !== 1) return;
    const key = `${begins} ${zone.seq}`;
    let known = pending.get(key);
    if (!known) {
      if (!shares.admit(zone, begins)) return;
      if (pending.size >= MOST_ZONES && !makeRoom(zone.account)) return;
      known = { zone: zone.seq, account: zone.account, begins, detail: noDetail() };
      pending.set(key, known);
    }
    addDetail(known.detail, detailOf(tally), PENDING);
  };

  /** Puts back what could not be stored. */
  const keep = (some: readonly Pending[]): void => {
    for (const one of some) {
      const key = `${one.begins} ${one.zone}`;
      const newer = pending.get(key);
      pending.set(key, one);
      if (newer) addDetail(one.detail, newer.detail, PENDING);
    }
  };
  const storeAll = async (timeoutMs?: number): Promise<void> => {
    const isLast = timeoutMs !== undefined;
    const all = inTurns(pending.values());
    for (let stored = 0; all.size > 0 && (stored < MOST_CHARACTERS || isLast); ) {
      written = all.take(ZONES_AT_ONCE);
      removeSame(pending, written);
      try {
        const some = written;
        stored += await store.write(() => writeSome(store, some, removeOld), timeoutMs);
        hasFailed = false;
      } catch (error) {
        keep(written);
        if (!hasFailed)
          log.warn({ reason: messageOf(error) }, 'what zones were asked cannot be stored; it is tried again');
        hasFailed = true;
        return;
      } finally {
        written = [];
      }
      if (all.size > 0) await betweenWrites();
    }
  };
  const storeOnce = (timeoutMs?: number): Promise<void> => {
    storing ??= storeAll(timeoutMs).finally(() => {
      storing = undefined;
    });
    return storing;
  };

  const cancel = clock.every(STORE_MS, () => void storeOnce());
  return {
    add({ atMs, tallies = [] }) {
      const begins = Math.floor(atMs / 1000 / HOUR) * HOUR;
      const makeRoom = createRoom(pending);
      for (const tally of tallies) addTally(tally, begins, makeRoom);
    },
    pendingOf: (zone) => [...written, ...pending.values()].filter((one) => one.zone === zone),
    async close() {
      cancel();
      await storing;
      await storeOnce(LAST_WRITE_MS);
    },
  };
}

/** One of them may have been dropped to make room, and a newer one may have its key. */
function removeSame(pending: Map<string, Pending>, some: readonly Pending[]): void {
  for (const one of some) {
    const key = `${one.begins} ${one.zone}`;
    if (pending.get(key) === one) pending.delete(key);
  }
}

function inTurns(pending: Iterable<Pending>): TurnQueue<Pending> {
  const queue = createTurnQueue<Pending>(({ account }) => String(account));
  for (const one of pending) queue.add(one);
  return queue;
}

/**
 * Adds to the rows of the hour and the day, of zones that are still there, and removes some old ones. Returns how many characters it has
 * stored.
 */
function writeSome(store: Store, some: readonly Pending[], removeOld: (store: Store) => void): number {
  removeOld(store);
  let characters = 0;
  for (const { zone, begins: hour, detail } of some) {
    if (!findZone(store, zone)) continue;
    for (const span of [HOUR, DAY]) {
      const begins = Math.floor(hour / span) * span;
      const row = findQueries(store, zone, span, begins);
      const sum = row ? readDetail(row.total, row.detail) : noDetail();
      addDetail(sum, detail, STORED);
      const printed = printDetail(sum);
      putQueries(store, { zone, span, begins, total: sum.total, detail: printed });
      characters += printed.length;
    }
  }
  return characters;
}
