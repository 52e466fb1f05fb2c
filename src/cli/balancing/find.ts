/** Finds load balancers and their zones by name. */
import { UserError } from '../../base/errors.js';
import { nearMatch } from '../../config/near-match.js';
import type { Settings } from '../../config/schema.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import { listLoadBalancers } from '../../control/balancing/load-balancers.js';
import type { Context } from '../../control/kernel/context.js';
import type { ZoneItem } from '../../control/zones/item.js';
import { balancingLimits } from '../../roles/process/control-base.js';
import { createInstallationEgress } from '../../roles/process/listening.js';
import { zoneOfName } from '../control.js';

/** The context of a command in which pools are judged as the running server judges them. */
export function asTheServer(context: Context, settings: Settings): Context {
  const egress = createInstallationEgress(settings, context.settings, context.clock);
  const limits = { ...context.settings.limits, balancing: balancingLimits(settings) };
  return { ...context, egress, settings: { ...context.settings, limits } };
}

export interface FoundBalancer {
  readonly zone: ZoneItem;
  readonly item: BalancingItem;
}

/** Those of the zone in which a name lies. */
export async function balancersOf(context: Context, name: string): Promise<FoundBalancer[]> {
  const zone = await zoneOfName(context, name);
  return (await listLoadBalancers(context, zone.id)).map((item) => ({ zone, item }));
}

/** The one with this name, in any case. */
export function requireBalancerNamed(name: string, found: readonly FoundBalancer[]): FoundBalancer {
  const wanted = name.toLowerCase().replace(/\.$/, '');
  const names = found.map(({ item }) => String(item.members.name));
  const at = names.indexOf(wanted);
  if (at >= 0) return found[at]!;
  const near = nearMatch(wanted, names);
  throw new UserError(
    `there is no load balancer ${name}${near === undefined ? '' : `; did you mean ${near}?`}`,
    'See them all with `zoneplane lb list`.',
  );
}
