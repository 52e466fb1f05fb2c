/**
 * The edge processes: one, or several that listen at the same ports. Each is watched and started again on its own; what they tell each
 * other goes through here.
 */
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import type { EdgeMember, EdgeReport, EdgeSessions, EdgeStatus, Notice, StartOrder } from '../process/ipc.js';
import { KILL_GRACE_MS } from '../process/limits.js';
import type { Reload } from '../process/reload.js';
import type { SpareKind } from '../supervision/spare.js';
import { SupervisedChild } from '../supervision/supervised-child.js';
import { createEdgeMemory, type EdgeMemory } from './memory.js';
import type { MergedSamples } from './merged-samples.js';
import { requireFreePorts } from './ports.js';

export interface EdgeProcessesOptions {
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly start: StartOrder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly spare?: SpareKind | undefined;
  /** What all have counted; outlives them. */
  readonly merged: MergedSamples;
  /** Called when all processes are ready, for the first time or again. */
  readonly onReady: (report: EdgeReport) => void;
  readonly onStatus: (status: EdgeStatus) => void;
}

export interface EdgeProcesses {
  /** Resolves when all are ready. If one cannot start, it rejects with a UserError, and none runs. */
  start(): Promise<void>;
  reload(reload: Reload): void;
  drain(limitMs: number): Promise<boolean>;
  kill(): void;
}

/** The ports are in the settings. */
export function createEdgeProcesses(options: EdgeProcessesOptions): EdgeProcesses {
  const { settings } = options.start;
  const { edgeProcesses: of } = settings;
  const memory = of > 1 ? createEdgeMemory(settings.dataDir, of, systemRandom) : undefined;
  const ready = new Set<number>();
  let isDraining = false;
  const children: SupervisedChild<'edge'>[] = [];
  const tellOthers = relaySessions(children);
  const status = (): void => {
    if (!isDraining) options.onStatus({ samples: options.merged.samples() });
  };
  for (let number = 1; number <= of; number++) {
    const child = makeChild(
      options,
      memory,
      { number, of },
      {
        onReady(report) {
          ready.add(number);
          if (ready.size === of) options.onReady({ ...report, processes: of });
        },
        onLost() {
          ready.delete(number);
          if (memory) clear(memory, number, options.log);
          options.merged.end(number);
          status();
        },
        onNotice(notice) {
          if (notice.kind === 'edge-sessions') tellOthers(number, notice);
          if (notice.kind !== 'edge-status') return;
          options.merged.set(number, notice.status.samples);
          status();
        },
      },
    );
    children.push(child);
  }
  const drain = async (limitMs: number): Promise<boolean> => {
    isDraining = true;
    const clean = await Promise.all(children.map((child) => child.drain(limitMs)));
    memory?.close();
    for (let number = 1; number <= of; number++) options.merged.end(number);
    return clean.every(Boolean);
  };
  return {
    async start() {
      try {
        if (memory) await requireFreePorts(settings);
        if (!isDraining) await Promise.all(children.map((child) => child.start()));
      } catch (error) {
        await drain(KILL_GRACE_MS);
        throw error;
      }
    },
    reload(reload) {
      for (const child of children) child.reload(reload);
    },
    drain,
    kill() {
      isDraining = true;
      for (const child of children) child.kill();
    },
  };
}

/** On a full disk, where it does not stand in memory, it may fail; that must not end the supervisor. */
function clear(memory: EdgeMemory, number: number, log: Logger): void {
  try {
    memory.clear(number - 1);
  } catch (error) {
    log.error(
      { reason: messageOf(error) },
      `what edge process ${number} has counted cannot be cleared, so its clients have less until all edge processes are started again`,
    );
  }
}

/** Messages that may wait for a process, which perhaps reads none: it can do without more of them. */
const MOST_UNSENT = 16;

function relaySessions(children: readonly SupervisedChild<'edge'>[]): (from: number, told: EdgeSessions) => void {
  const unsent = new Map<SupervisedChild<'edge'>, number>();
  return (from, told) => {
    for (const [i, child] of children.entries()) {
      const waiting = unsent.get(child) ?? 0;
      if (i + 1 === from || waiting >= MOST_UNSENT) continue;
      unsent.set(child, waiting + 1);
      child.send(told, () => unsent.set(child, unsent.get(child)! - 1));
    }
  };
}

interface ChildEvents {
  readonly onReady: (report: EdgeReport) => void;
  readonly onLost: () => void;
  readonly onNotice: (notice: Notice) => void;
}

function makeChild(
  { program, environment, start, clock, log, spare }: EdgeProcessesOptions,
  memory: EdgeMemory | undefined,
  member: EdgeMember,
  events: ChildEvents,
): SupervisedChild<'edge'> {
  const common = { program, environment, clock, log, role: 'edge', ...events } as const;
  if (!memory) return new SupervisedChild({ ...common, start, spare });
  // While one starts again, the others answer.
  return new SupervisedChild({
    ...common,
    name: `edge process ${member.number}`,
    start: { ...start, member },
    inherits: [memory.fd],
  });
}
