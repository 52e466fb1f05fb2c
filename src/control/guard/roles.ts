/**
 * Roles of members: fixed lists of what they give in an account, and the rule by which roles and policies decide. The identifiers are
 * those that v4 clients know.
 */
import { type Area, type Level, type Target, ZONE_AREAS } from './permissions.js';

/** The highest level in each area. Absent: nothing. */
type Levels = Readonly<Partial<Record<Area, Level>>>;

export interface Role {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** `zone`: only in policies, for chosen zones. */
  readonly scope: 'account' | 'zone';
  readonly levels: Levels;
}

/** What one role, or one policy, says about an account. */
export interface Grant {
  readonly access: 'allow' | 'deny';
  /** Identifier of the role. */
  readonly role: string;
  /** Identifiers of the zones it is about; undefined: the whole account. */
  readonly zones?: readonly string[];
}

const RULES: Levels = { redirects: 'write', transforms: 'write', pageRules: 'write' };
const OWN_ZONES: Levels = {
  zone: 'write',
  dns: 'write',
  zoneSettings: 'write',
  cachePurge: 'write',
  certificates: 'write',
  loadBalancers: 'write',
  ...RULES,
};
const READ_ZONES: Levels = {
  zone: 'read',
  dns: 'read',
  zoneSettings: 'read',
  certificates: 'read',
  loadBalancers: 'read',
  redirects: 'read',
  transforms: 'read',
  pageRules: 'read',
};
const EDIT_DNS: Levels = { zone: 'read', dns: 'write', zoneSettings: 'read' };
const PURGE: Levels = { zone: 'read', zoneSettings: 'read', cachePurge: 'write' };

const role = (id: string, name: string, description: string, levels: Levels): Role => ({
  id,
  name,
  description,
  scope: 'account',
  levels,
});

/** The role with everything; each account needs a member who has it. */
export const SUPER_ADMINISTRATOR = '33666b9c79b9a5273fc7344ff42f953d';

/** All roles, in the order in which they are listed. */
export const ROLES: readonly Role[] = [
  role(
    SUPER_ADMINISTRATOR,
    'Super Administrator - All Privileges',
    'Can do everything in the account, and manage its members, roles and tokens.',
    {
      ...OWN_ZONES,
      account: 'write',
      accountTokens: 'write',
      members: 'write',
      loadBalancing: 'write',
      buckets: 'write',
      objects: 'write',
      audit: 'read',
    },
  ),
  role(
    '05784afa30c1afe1440e79d9351c7430',
    'Administrator',
    'Can do everything in the account except to manage its members, roles and tokens.',
    {
      ...OWN_ZONES,
      account: 'write',
      accountTokens: 'read',
      members: 'read',
      loadBalancing: 'write',
      buckets: 'write',
      objects: 'write',
      audit: 'read',
    },
  ),
  role('f2b20eaa1a5d4af42b53ac16238c99c7', 'Administrator Read Only', 'Can read everything in the account.', {
    ...READ_ZONES,
    account: 'read',
    accountTokens: 'read',
    members: 'read',
    loadBalancing: 'read',
    buckets: 'read',
    objects: 'read',
    audit: 'read',
  }),
  role(
    '5c35d2bf3a545e6b7560b826c0d23c39',
    'Minimal Account Access',
    'Sees the name of the account, and nothing in it.',
    {},
  ),
  role('6ddc5f80969d01105b5a0931e0079365', 'Analytics', 'Can see the zones and how much they are asked.', {
    zone: 'read',
  }),
  role('9dfa4d1b73034f70ad896bf1c26d78f3', 'Audit Logs Viewer', 'Can read the audit log.', { audit: 'read' }),
  role('069fe803647ed3609e93d041d5df6050', 'DNS', 'Can edit DNS records.', EDIT_DNS),
  role('d1c17a97abf0aa371338074955877ba0', 'Cache Purge', 'Can purge the cache of the edge.', PURGE),
  role(
    '75f36071fa06ebfac6da0c3f8ddbc4df',
    'SSL/TLS, Caching, Performance, Page Rules, and Customization',
    'Can edit the settings, rules, certificates and custom hostnames of zones, and purge the cache.',
    { zone: 'read', zoneSettings: 'write', cachePurge: 'write', certificates: 'write', ...RULES },
  ),
  role('c61d4237ab1c08a3d11feb6bd5e91c5a', 'Load Balancer', 'Can edit load balancers, pools and monitors.', {
    zone: 'read',
    loadBalancers: 'write',
    loadBalancing: 'write',
  }),
  role('6f83464b634142ce4ac573616256096e', 'Cloudflare R2 Admin', 'Can edit buckets and their objects.', {
    buckets: 'write',
    objects: 'write',
  }),
  role('084b982fe42511d15feb1411e4c9ce9e', 'Cloudflare R2 Read', 'Can read buckets and their objects.', {
    buckets: 'read',
    objects: 'read',
  }),
  {
    ...role(
      'a5e5061418ea445fbba04aac57f359a8',
      'Domain Administrator',
      'Can do everything in the chosen zones.',
      OWN_ZONES,
    ),
    scope: 'zone',
  },
  {
    ...role(
      '98d2b0c4bd3b4a2c842fcd2a81273ee9',
      'Domain Administrator Read Only',
      'Can read everything in the chosen zones.',
      READ_ZONES,
    ),
    scope: 'zone',
  },
  {
    ...role('132c52e7e6654b999c183cfcbafd37d7', 'Domain DNS', 'Can edit DNS records of the chosen zones.', EDIT_DNS),
    scope: 'zone',
  },
  {
    ...role(
      'e713d034437c4c6d936daf981f29bf88',
      'Cache Domain Purge',
      'Can purge the cache for the chosen zones.',
      PURGE,
    ),
    scope: 'zone',
  },
];

const BY_ID = new Map(ROLES.map((entry) => [entry.id, entry]));

export function findRole(id: string): Role | undefined {
  return BY_ID.get(id);
}

/** Whether grants are all that there is: then nobody needs to look at them. */
export function giveEverything(grants: readonly Grant[]): boolean {
  const isWhole = ({ access, role: id, zones }: Grant): boolean =>
    access === 'allow' && id === SUPER_ADMINISTRATOR && zones === undefined;
  return grants.some(isWhole) && grants.every(({ access }) => access === 'allow');
}

/**
 * Whether the grants of an account allow an action in it: one allows it and none denies it. What is denied for a zone is not denied
 * for zones in general (`*`), but what is allowed in general must be allowed for the whole account.
 */
export function grantsAllow(grants: readonly Grant[], area: Area, level: Level, target: Target): boolean {
  // Whoever is a member sees the name of the account.
  if (area === 'accountName') return level === 'read';
  const covers = ({ access, role: id, zones }: Grant): boolean =>
    reaches(BY_ID.get(id)?.levels[area], level, access) && (zones === undefined || isOneOf(zones, area, target));
  return (
    grants.some((grant) => grant.access === 'allow' && covers(grant)) &&
    !grants.some((grant) => grant.access === 'deny' && covers(grant))
  );
}

/** Whether grants allow an action for anything in the account; denials of single zones do not count. */
export function grantsAllowSomewhere(grants: readonly Grant[], area: Area, level: Level): boolean {
  if (area === 'accountName') return level === 'read';
  const reachesIt = (grant: Grant): boolean => reaches(BY_ID.get(grant.role)?.levels[area], level, grant.access);
  const isDenied = (grant: Grant): boolean => grant.access === 'deny' && grant.zones === undefined && reachesIt(grant);
  const isAllowed = ({ access, zones, ...grant }: Grant): boolean =>
    access === 'allow' &&
    (zones === undefined || (isZoneArea(area) && zones.length > 0)) &&
    reachesIt({ access, ...grant });
  return grants.some(isAllowed) && !grants.some(isDenied);
}

/** Whether the grants of an account allow an action on everything in it, so that it may be passed on for all zones. */
export function grantsAllowWholly(grants: readonly Grant[], area: Area, level: Level): boolean {
  const isDenied = ({ access, role: id }: Grant): boolean =>
    access === 'deny' && reaches(BY_ID.get(id)?.levels[area], level, access);
  return grantsAllow(grants, area, level, { zone: '*' }) && !grants.some(isDenied);
}

/** Whether grants allow anything on a zone: it then appears in lists, and the zone object itself may be read. */
export function grantsShowZone(grants: readonly Grant[], target: Target): boolean {
  return ZONE_AREAS.some((area) => grantsAllow(grants, area, area === 'cachePurge' ? 'write' : 'read', target));
}

/** A denied role denies all that it would give, and what needs that: an area that it reads is not written either. */
function reaches(known: Level | undefined, asked: Level, access: Grant['access']): boolean {
  return known !== undefined && (access === 'deny' || known === 'write' || asked === 'read');
}

function isOneOf(zones: readonly string[], area: Area, { zone }: Target): boolean {
  return zone !== undefined && isZoneArea(area) && zones.includes(zone);
}

function isZoneArea(area: Area): boolean {
  return ZONE_AREAS.includes(area);
}
