/** What the policies of a credential let it see: accounts and zones. */
import { toHex } from '../../base/bytes.js';
import type { Store } from '../../store/driver.js';
import { findZoneById, zoneIdsOfAccount } from '../../store/zones/zones.js';
import { accountIdOf, parseId } from '../guard/access.js';
import type { Actor } from '../guard/actor.js';
import { findPermissionGroup, type Policy, type Resource, resourcesOf, showsZone } from '../guard/permissions.js';

/**
 * What an actor with policies sees: the zones with any permission, and the accounts of these and of other resources.
 */
export function scopeOf(
  store: Store,
  policies: readonly Policy[],
  accountIds: readonly string[],
): Pick<Actor, 'accountIds' | 'zoneIds' | 'policies' | 'readOnly'> {
  const allowing = policies.filter(({ effect }) => effect === 'allow');
  const mentioned = new Set(allowing.flatMap(resourcesOf).map((resource) => accountOf(store, resource)));
  const visible = accountIds.filter((id) => mentioned.has(id) || mentioned.has('*'));
  const groups = allowing.flatMap((policy) => policy.groups.map(findPermissionGroup));
  const readOnly = !groups.some((entry) => entry?.level === 'write');
  return { accountIds: visible, ...zonesOf(store, policies, visible), policies, readOnly };
}

/** The account in which a resource is; `*` for all, undefined for none. */
function accountOf(store: Store, { scope, id, account = '*' }: Resource): string | undefined {
  if (scope === 'user') return undefined;
  if (id === '*') return account;
  const own = scope === 'zone' ? zoneOf(store, id)?.account : scope === 'bucket' ? id.split('_', 1)[0] : id;
  return account === '*' || account === own ? own : undefined;
}

function zoneOf(store: Store, zoneId: string): { readonly id: string; readonly account: string } | undefined {
  const id = parseId(zoneId);
  const zone = id && findZoneById(store, id);
  return zone && { id: zoneId, account: accountIdOf(store, zone) };
}

/**
 * The zones of the resources, one by one if that is shorter or no account is named; undefined = all zones of the
 * accounts.
 */
function zonesOf(store: Store, policies: readonly Policy[], accountIds: readonly string[]): Pick<Actor, 'zoneIds'> {
  const whole = accountIds.filter((account) => showsZone(policies, { account, zone: '*' }));
  const denies = policies.some(({ effect }) => effect === 'deny');
  if (whole.length > 0 && whole.length === accountIds.length && !denies) return {};
  if (whole.length === 0 && !denies) {
    const named = policies.flatMap(resourcesOf).filter(({ scope, id }) => scope === 'zone' && id !== '*');
    const ids = [...new Set(named.map(({ id }) => id))];
    return {
      zoneIds: ids.filter((zone) => showsZone(policies, { zone, account: zoneOf(store, zone)?.account ?? '' })),
    };
  }
  const shown = accountIds.flatMap((account) =>
    zoneIdsOfAccount(store, parseId(account)!)
      .map(toHex)
      .filter((zone) => showsZone(policies, { zone, account })),
  );
  return { zoneIds: shown };
}
