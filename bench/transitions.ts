/** Origins that keep changing: which transitions are stored, how many wait, and how long edits of another account take beside them. */
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fromHex } from '../src/base/bytes.js';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { systemRandom } from '../src/base/random.js';
import { loadSettings } from '../src/config/load.js';
import { createAccount } from '../src/control/access/accounts.js';
import { createMonitor } from '../src/control/balancing/monitors.js';
import { createPool } from '../src/control/balancing/pools.js';
import { OPERATOR } from '../src/control/guard/actor.js';
import type { Context } from '../src/control/kernel/context.js';
import { createRecord } from '../src/control/records/records.js';
import { createZone } from '../src/control/zones/zones.js';
import type { Transition } from '../src/monitoring/prober.js';
import { createRecorder } from '../src/roles/probing/recorder.js';
import { createControlBase } from '../src/roles/process/control-base.js';
import { findMonitorById } from '../src/store/balancing/monitors.js';
import { originStatesOfPool } from '../src/store/balancing/origin-states.js';
import { findPoolById } from '../src/store/balancing/pools.js';
import { openStore } from '../src/store/driver.js';
import { migrate } from '../src/store/migrate.js';
import { named } from './latency.js';
import type { Figures } from './writes.js';

const ACCOUNTS = 10;
const POOLS = 5;
const ORIGINS = 200;
const TRANSITIONS = 100_000;
const LASTING_MS = 60_000;
const TELL_MS = 20;
const EDIT_MS = 100;

interface Origin {
  readonly pool: number;
  readonly monitor: number;
  readonly origin: string;
}

export async function measureTransitions(directory: string): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'transitions-'));
  mkdirSync(join(own, 'data'));
  const { settings } = loadSettings({ flags: { 'data-dir': join(own, 'data') }, environment: {} });
  const [clock, log] = [new SystemClock(), silentLogger()];
  const store = openStore(settings.dataDir);
  migrate(store, clock, systemRandom);
  const ctx: Context = {
    ...createControlBase(settings, store, clock, log),
    ...{ actor: OPERATOR, requestId: 'bench', source: 'cli' },
  };
  const { id: account } = await createAccount(ctx, { name: 'edits' });
  const zone = await createZone(ctx, { name: 'edited.test', account });
  const origins = await createOrigins(ctx);
  const recorder = createRecorder({ base: ctx, node: { node: '', region: '' } });
  try {
    const alone = await editsWhile(ctx, zone.id, 'alone', pause(LASTING_MS / 10));
    const before = process.memoryUsage().rss;
    let mostWaiting = 0;
    let mostMemory = before;
    const told = tellAll(origins, (transitions) => {
      recorder.take(transitions);
      mostWaiting = Math.max(mostWaiting, recorder.unwritten().length);
      mostMemory = Math.max(mostMemory, process.memoryUsage().rss);
    });
    const beside = await editsWhile(ctx, zone.id, 'beside', told);
    const endMs = performance.now();
    while (recorder.unwritten().length > 0) await pause(TELL_MS);
    const events = store.prepareTuples<[], [number]>("SELECT count(*) FROM events WHERE kind = 'pool.health'").get()!;
    return {
      ...named('an edit of another account, alone', alone),
      ...named(`the same beside ${TRANSITIONS} transitions in a minute`, beside),
      'transitions that waited, most': mostWaiting,
      'ms until the last one was stored': performance.now() - endMs,
      'MB of memory more, most': (mostMemory - before) / 1e6,
      'events of pools': events[0],
      'origins that are not as was told last': wrongStates(ctx, origins),
    };
  } finally {
    recorder.close();
    store.close();
  }
}

async function createOrigins(ctx: Context): Promise<Origin[]> {
  const { store } = ctx;
  const all: Origin[] = [];
  for (let i = 0; i < ACCOUNTS; i++) {
    const { id: account } = await createAccount(ctx, { name: `a${i}` });
    const { id: monitorId } = await createMonitor(ctx, account, { type: 'http' });
    const monitor = findMonitorById(store, fromHex(monitorId)!)!.seq;
    for (let j = 0; j < POOLS; j++) {
      const origins = Array.from({ length: ORIGINS }, (_, k) => ({ name: `o${k}`, address: `198.51.100.${k + 1}` }));
      const made = await createPool(ctx, account, { name: `p${j}`, monitor: monitorId, origins });
      const pool = findPoolById(store, fromHex(made.id)!)!.seq;
      all.push(...origins.map(({ name }) => ({ pool, monitor, origin: name })));
    }
  }
  return all;
}

/** Every origin becomes healthy, then unhealthy, and so on: the transition with this number. */
function isHealthy(number: number, origins: readonly Origin[]): boolean {
  return Math.floor(number / origins.length) % 2 === 0;
}

/** Reports as the probing process does: transitions that were gathered for a moment, of many pools. */
async function tellAll(origins: readonly Origin[], tell: (transitions: readonly Transition[]) => void): Promise<void> {
  const beganMs = performance.now();
  for (let number = 0; number < TRANSITIONS; ) {
    await pause(TELL_MS);
    const due = Math.min(TRANSITIONS, Math.floor(((performance.now() - beganMs) / LASTING_MS) * TRANSITIONS));
    const transitions: Transition[] = [];
    for (; number < due; number++) {
      const healthy = isHealthy(number, origins);
      // 7919 is prime, so that each origin has one turn in a round.
      const origin = origins[(number * 7919) % origins.length]!;
      const reason = healthy ? 'No failures' : 'TCP Timeout';
      transitions.push({ ...origin, healthy, reason, responseCode: undefined, rttMs: 1 });
    }
    tell(transitions);
  }
}

function wrongStates({ store }: Context, origins: readonly Origin[]): number {
  const expected = Number(isHealthy(TRANSITIONS - 1, origins));
  const states = [...new Set(origins.map(({ pool }) => pool))].flatMap((pool) => originStatesOfPool(store, pool));
  return origins.length - states.filter(({ healthy }) => healthy === expected).length;
}

/** Milliseconds of edits, sorted, until something has ended. */
async function editsWhile(ctx: Context, zone: string, name: string, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  const ending = work.then(() => (isOver = true));
  const took: number[] = [];
  for (let i = 0; !isOver; i++) {
    const beganMs = performance.now();
    await createRecord(ctx, zone, { name: `${name}${i}.edited.test`, type: 'A', content: '192.0.2.1', ttl: 60 });
    took.push(performance.now() - beganMs);
    await pause(EDIT_MS);
  }
  await ending;
  return took.sort((a, b) => a - b);
}
