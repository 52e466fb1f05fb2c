/** Sessions and permissions on the wire (ours). */
import type { SessionItem } from '../../control/access/item.js';
import type { Reach } from '../../control/access/reach.js';
import type { SessionFacts } from '../../sign-in/facts.js';
import { printTime } from '../times.js';
import type { Permissions, Session } from './schema.js';

export function sessionView(item: SessionItem, current: string | undefined): Session {
  return {
    id: item.id,
    current: item.id === current,
    user: { email: item.userEmail },
    credential: item.key ? { id: item.key.id, name: item.key.name, type: item.key.kind } : null,
    how: [...item.how],
    proved_on: printTime(item.provedAt),
    address: item.address,
    user_agent: item.userAgent,
    created_on: printTime(item.createdAt),
    last_used_on: printTime(item.lastUsedAt),
    expires_on: printTime(item.expiresAt),
  };
}

export function permissionsView(
  { administrator, email, areas, createsZones, allZones, records }: Reach,
  facts: SessionFacts | undefined,
): Permissions {
  return {
    administrator,
    email,
    areas: { ...areas },
    creates_zones: createsZones,
    all_zones: allZones,
    session: facts
      ? {
          person: facts.person,
          how: [...facts.how],
          must_enrol: facts.mustEnrol,
          may_choose_password: facts.mayChoosePassword,
          recovery_codes: facts.recoveryCodes,
          invitations: facts.invitations,
        }
      : null,
    records:
      records?.map(({ names, types }) => ({
        ...(names && { names: [...names] }),
        ...(types && { types: [...types] }),
      })) ?? null,
  };
}
