/** Warnings, and events about what needs somebody as it begins and ends. */
import type { Readers } from '../../api/reading/readers.js';
import { messageOf } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import { OPERATOR } from '../../control/guard/actor.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { noteConditions } from '../../warnings/conditions.js';
import type { Finding } from '../../warnings/finding.js';
import { createWarningWatch, type WarningWatch, type WarningWatchOptions } from './warnings.js';

const EVERY_MS = 60_000;

/** In a cluster every node knows other things of its processes, so no events tell of these. */
export function startWarnings(options: WarningWatchOptions, base: ContextBase, lifecycle: Lifecycle): WarningWatch {
  const watch = createWarningWatch(options);
  const { readers, readCluster } = options;
  const conditions = watchConditions(base, readers, readCluster ? undefined : watch.processFindings);
  lifecycle.own('conditions', conditions, (part) => part.stop());
  return watch;
}

interface ConditionWatch {
  stop(): Promise<void>;
}

function watchConditions(
  base: ContextBase,
  readers: Pick<Readers, 'examine'>,
  ofProcesses: (() => Promise<readonly Finding[]>) | undefined,
): ConditionWatch {
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      const processes = (await ofProcesses?.()) ?? [];
      await noteConditions(base, [...processes, ...(await readers.examine(OPERATOR))]);
    } catch (error) {
      base.log.warn({ reason: messageOf(error) }, 'events about warnings could not be written now');
    } finally {
      looking = undefined;
    }
  };
  const cancel = base.clock.every(EVERY_MS, () => {
    looking ??= look();
  });
  return {
    async stop() {
      cancel();
      await looking;
    },
  };
}
