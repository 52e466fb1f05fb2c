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
  const accountOfZone = accountsOfZones(store);
  const mentioned = new Set(allowing.flatMap(resourcesOf).map((resource) => accountOf(resource, accountOfZone)));
  const visible = accountIds.filter((id) => mentioned.has(id) || mentioned.has('*'));
  const groups = allowing.flatMap((policy) => policy.groups.map(findPermissionGroup));
  const readOnly = !groups.some((entry) => entry?.level === 'write');
  return { accountIds: visible, ...zonesOf(store, policies, visible, accountOfZone), policies, readOnly };
}

/** The account of a zone; undefined when there is no such zone. */
type AccountOfZone = (zoneId: string) => string | undefined;

/** Each zone is looked up once. */
function accountsOfZones(store: Store): AccountOfZone {
  const known = new Map<string, string | undefined>();
  return (zoneId) => {
    if (!known.has(zoneId)) {
      const id = parseId(zoneId);
      const zone = id && findZoneById(store, id);
      known.set(zoneId, zone && accountIdOf(store, zone));
    }
    return known.get(zoneId);
  };
}

/** The account in which a resource is; `*` for all, undefined for none. */
function accountOf({ scope, id, account = '*' }: Resource, accountOfZone: AccountOfZone): string | undefined {
  if (scope === 'user') return undefined;
  if (id === '*') return account;
  const own = scope === 'zone' ? accountOfZone(id) : scope === 'bucket' ? id.split('_', 1)[0] : id;
  return account === '*' || account === own ? own : undefined;
}

/**
 * The zones of the resources, one by one if that is shorter or no account is named; undefined = all zones of the
 * accounts.
 */
function zonesOf(
  store: Store,
  policies: readonly Policy[],
  accountIds: readonly string[],
  accountOfZone: AccountOfZone,
): Pick<Actor, 'zoneIds'> {
  const whole = accountIds.filter((account) => showsZone(policies, { account, zone: '*' }));
  const denies = policies.some(({ effect }) => effect === 'deny');
  if (whole.length > 0 && whole.length === accountIds.length && !denies) return {};
  const resources = policies.flatMap(resourcesOf);
  const named = new Set(resources.flatMap(({ scope, id }) => (scope === 'zone' && id !== '*' ? id : [])));
  if (whole.length === 0 && !denies) {
    return {
      zoneIds: [...named].filter((zone) => showsZone(policies, { zone, account: accountOfZone(zone) ?? '' })),
    };
  }
  const shown = accountIds.flatMap((account) => {
    // The policies say the same about all zones that they do not name, which may be very many.
    const showsOthers = showsZone(policies, { zone: '', account });
    const zones = showsOthers ? zoneIdsOfAccount(store, parseId(account)!).map(toHex) : [...named];
    const isShown = (zone: string): boolean =>
      named.has(zone) ? accountOfZone(zone) === account && showsZone(policies, { zone, account }) : showsOthers;
    return zones.filter(isShown);
  });
  return { zoneIds: shown };
}
