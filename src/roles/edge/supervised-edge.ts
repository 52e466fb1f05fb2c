/**
 * The edge in the supervisor: started when it is needed, stopped when it is not. Its failures never end the other
 * processes: they are logged, and it is started again.
 */
import type { Clock } from '../../base/clock.js';
import { messageOf, UserError } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { Settings } from '../../config/schema.js';
import type { EdgeReport, EdgeStatus, StartOrder } from '../process/ipc.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS } from '../process/limits.js';
import type { Reload } from '../process/reload.js';
import type { SpareKind } from '../supervision/spare.js';
import { createMergedSamples, type MergedSamples } from './merged-samples.js';
import { chooseEdgePorts, type EdgePorts } from './ports.js';
import { createEdgeProcesses, type EdgeProcesses } from './processes.js';

const RETRY_MS = 10_000;

export interface SupervisedEdgeOptions {
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly start: StartOrder;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onReady: (report: EdgeReport, remedies: readonly string[]) => void;
  readonly onStatus: (status: EdgeStatus | undefined) => void;
  readonly spare: SpareKind | undefined;
}

export interface SupervisedEdge {
  /** From now on it runs when needed. */
  start(): void;
  /** The report of the admin process; with `--edge on` or `off` it has no effect. */
  setNeeded(needed: boolean): void;
  reload(reload: Reload): void;
  /** Starts another process in the place of the running one. */
  replace(): void;
  drain(): Promise<boolean>;
  kill(): void;
}

function makeProcesses(
  options: SupervisedEdgeOptions,
  { remedies, ...chosen }: EdgePorts,
  settings: Settings,
  merged: MergedSamples,
): EdgeProcesses {
  return createEdgeProcesses({
    ...options,
    merged,
    start: { ...options.start, settings: { ...settings, ...chosen } },
    onReady: (report) => options.onReady(report, remedies),
  });
}

export function createSupervisedEdge(options: SupervisedEdgeOptions): SupervisedEdge {
  const { start, clock, log } = options;
  let { settings } = start;
  let started = false;
  let wanted = settings.edge === 'on';
  const merged = createMergedSamples();
  let processes: EdgeProcesses | undefined;
  let ports: EdgePorts | undefined;
  let ended = false;
  /** One step at a time, because a stopping edge holds the ports that the next one needs. */
  let steps: Promise<unknown> = Promise.resolve();

  async function launch(): Promise<void> {
    ports ??= await chooseEdgePorts(settings);
    try {
      processes = makeProcesses(options, ports, settings, merged);
      await processes.start();
    } catch (error) {
      processes = undefined;
      // The chosen ports may have been taken meanwhile.
      ports = undefined;
      const remedy = error instanceof UserError ? error.remedy : undefined;
      log.error({ reason: messageOf(error), remedy }, 'the edge does not run; trying again');
      clock.after(RETRY_MS, step);
    }
  }

  async function stop(): Promise<boolean> {
    const running = processes;
    processes = undefined;
    options.onStatus(undefined);
    return running ? running.drain(DRAIN_LIMIT_MS + KILL_GRACE_MS) : true;
  }

  function step(): void {
    steps = steps.then(async () => {
      if (ended || !started) return;
      if (wanted && !processes) await launch();
      else if (!wanted && processes) await stop();
    });
  }

  return {
    start() {
      started = true;
      step();
    },
    setNeeded(needed) {
      if (settings.edge !== 'auto' || needed === wanted) return;
      wanted = needed;
      step();
    },
    reload(next) {
      settings = { ...settings, ...next };
      processes?.reload(next);
    },
    replace() {
      steps = steps.then(async () => {
        if (ended || !processes) return;
        await stop();
        await launch();
      });
    },
    async drain() {
      ended = true;
      // A launch in progress ends with its child.
      const clean = stop();
      await steps;
      return (await clean) && (await stop());
    },
    kill() {
      ended = true;
      processes?.kill();
    },
  };
}
