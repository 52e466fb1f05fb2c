/** Monitors, pools and load balancers as v4 clients read them. */
import type { StoredGroupMember } from '../../balancing/monitor.js';
import type { StoredOrigin } from '../../balancing/pool.js';
import type { BalancingItem } from '../../control/balancing/item.js';
import type { Message } from '../envelope.js';
import { printTime } from '../times.js';

type Shown = Readonly<Record<string, unknown>>;

/** Numbers of what a write says besides. */
const NOTICE = 10206;

export function messagesOf({ notices }: BalancingItem): Message[] {
  return notices.map((message) => ({ code: NOTICE, message }));
}

export function itemView({ id, members, createdAt, modifiedAt }: BalancingItem) {
  return { id, ...members, created_on: printTime(createdAt), modified_on: printTime(modifiedAt) };
}

export function groupView(item: BalancingItem) {
  const members = (item.members.members ?? []) as readonly StoredGroupMember[];
  return {
    ...itemView(item),
    description: String(item.members.description),
    members: members.map(({ created_at, updated_at, ...member }) => ({
      ...member,
      created_at: printTime(created_at),
      updated_at: printTime(updated_at),
    })),
  };
}

export function poolView(item: BalancingItem) {
  const { origins, name, ...members } = item.members;
  return {
    ...itemView({ ...item, members: withTime(members) }),
    name: String(name),
    origins: (origins as readonly StoredOrigin[]).map((origin) => ({
      name: origin.name,
      address: origin.address,
      ...withTime(origin as unknown as Shown),
    })),
  };
}

/** When something was disabled is shown only while it is. */
function withTime({ disabled_at: disabledAt, ...members }: Shown): Shown {
  return typeof disabledAt === 'number' ? { ...members, disabled_at: printTime(disabledAt) } : members;
}

export function balancerView(item: BalancingItem) {
  const { name, zone_name, default_pools, fallback_pool } = item.members as Record<string, never>;
  return { ...itemView(item), name, zone_name, default_pools, fallback_pool };
}
