/** For whom findings are: the operator finds all, everybody else what is about their own zones and accounts. */
import type { Asked } from '../control/guard/access.js';
import { readsAccount, type VisibleZones, visibleZones } from '../control/guard/visible.js';
import type { ControlSettings } from '../control/kernel/context.js';

export interface Examined extends Asked {
  readonly zones: VisibleZones;
  /** Whether what belongs to an account (store number) is shown. */
  seesAccount(account: number): boolean;
  readonly settings: Pick<ControlSettings, 'nameServers' | 'nameServerAddresses' | 'edgeAddresses' | 'activation'>;
  /** Microseconds since 1970. */
  readonly nowUs: number;
}

export type ExaminedSettings = Examined['settings'];

export function examinedFor(
  { store, actor }: Pick<Asked, 'store' | 'actor'>,
  settings: ExaminedSettings,
  nowUs: number,
): Examined {
  const asked = { store, actor };
  return { ...asked, settings, nowUs, zones: visibleZones(asked), seesAccount: (seq) => readsAccount(asked, seq) };
}
