/** Policies as the screens edit them and as the API reads them. */
import { call } from '../../../api.js';
import type { Named } from '../../../kit/checks.js';
import type { MemberPolicy, ResourceGroup } from '../../../types.js';

/** Where a policy applies: everywhere, in some zones, or in existing resource groups. */
export type Place =
  | { readonly kind: 'everything' }
  | { readonly kind: 'zones'; readonly zones: readonly Named[] }
  | { readonly kind: 'groups'; readonly groups: readonly Named[] };

export interface PolicyDraft {
  readonly access: 'allow' | 'deny';
  readonly roles: readonly Named[];
  readonly place: Place;
}

export function draftOf({ access, permission_groups: roles, resource_groups: groups }: MemberPolicy): PolicyDraft {
  return { access, roles, place: { kind: 'groups', groups } };
}

/** «Domain DNS in shop.example». */
export function policyInWords({ access, roles, place }: PolicyDraft): string {
  const names = roles.map(({ name }) => name).join(', ');
  const where = place.kind === 'everything' ? 'everything' : namesOf(place);
  return `${access === 'deny' ? 'Not ' : ''}${names} in ${where}`;
}

function namesOf(place: Exclude<Place, { readonly kind: 'everything' }>): string {
  return (place.kind === 'zones' ? place.zones : place.groups).map(({ name }) => name).join(', ') || 'nothing';
}

const ZONE = 'com.cloudflare.api.account.zone.';
const LONGEST_NAME = 100;

/** The scope of a resource group with these zones, or, if undefined, with everything in the account. */
export function scopeOf(account: string, zones: readonly Named[] | undefined): ResourceGroup['scope'] {
  const objects = zones ? zones.map(({ id }) => ({ key: ZONE + id })) : [{ key: '*' }];
  return { key: `com.cloudflare.api.account.${account}`, objects };
}

/** Undefined for a group of everything in the account. */
export function zoneIdsOf({ scope: { objects } }: ResourceGroup): readonly string[] | undefined {
  if (objects.some(({ key }) => key === '*')) return undefined;
  return objects.map(({ key }) => key.slice(ZONE.length));
}

/** The policies as the API reads them. Creates a resource group for zones that have none. */
export async function policiesOf(account: string, drafts: readonly PolicyDraft[]): Promise<object[]> {
  const path = `/accounts/${account}/iam/resource_groups`;
  const isKnown = drafts.every(({ place }) => place.kind === 'groups');
  const known = isKnown ? [] : [...(await call<ResourceGroup[]>('GET', path)).result];
  const groupFor = async (place: Exclude<Place, { readonly kind: 'groups' }>): Promise<string> => {
    const zones = place.kind === 'everything' ? undefined : place.zones;
    const found = known.find((group) =>
      isSame(
        zoneIdsOf(group),
        zones?.map(({ id }) => id),
      ),
    );
    if (found) return found.id;
    const name = (place.kind === 'everything' ? 'Everything' : namesOf(place)).slice(0, LONGEST_NAME);
    const body = { name, scope: scopeOf(account, zones) };
    const { result } = await call<ResourceGroup>('POST', path, { body });
    known.push(result);
    return result.id;
  };
  const sent: object[] = [];
  for (const { access, roles, place } of drafts) {
    const groups = place.kind === 'groups' ? place.groups.map(({ id }) => id) : [await groupFor(place)];
    const permission_groups = roles.map(({ id }) => ({ id }));
    sent.push({ access, permission_groups, resource_groups: groups.map((id) => ({ id })) });
  }
  return sent;
}

function isSame(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (!a || !b) return a === b;
  return a.length === b.length && a.every((id) => b.includes(id));
}
