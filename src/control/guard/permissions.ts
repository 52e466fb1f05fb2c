/**
 * Permissions of tokens (v4: §12): policies allow or deny permission groups on resources. The groups and their
 * identifiers are those of v4 clients, as far as this service has the corresponding resources. As an extension, a
 * policy may be restricted to records by name and type.
 */

export const AREAS = [
  'zone',
  'dns',
  'zoneSettings',
  'cachePurge',
  'certificates',
  'loadBalancers',
  'redirects',
  'transforms',
  'pageRules',
  'account',
  'accountName',
  'members',
  'audit',
  'accountTokens',
  'loadBalancing',
  'buckets',
  'objects',
  'user',
  'memberships',
  'userTokens',
] as const;

/** The subject of a permission. */
export type Area = (typeof AREAS)[number];

/** Write permission includes read permission. */
export type Level = 'read' | 'write';

/** The kind of resource for which a group is granted. */
export type ResourceScope = 'zone' | 'account' | 'user' | 'bucket';

export interface PermissionGroup {
  readonly id: string;
  readonly name: string;
  readonly scope: ResourceScope;
  readonly level: Level;
  readonly areas: readonly Area[];
}

/** Records to which a policy is restricted: name and type must match. Absent = all. */
export interface RecordScope {
  /** Patterns of names, lower-case FQDN without the final dot; `*` stands for any characters, dots included. */
  readonly names?: readonly string[];
  /** Mnemonics, upper case. */
  readonly types?: readonly string[];
}

export type Resources = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export interface Policy {
  readonly id: string;
  readonly effect: 'allow' | 'deny';
  /** Identifiers of groups. */
  readonly groups: readonly string[];
  /** As written: `com.cloudflare.api.account.zone.*`, or accounts with resources inside them. */
  readonly resources: Resources;
  readonly records?: RecordScope;
}

/** The subject of a request. `*` as a resource means any, including future ones. */
export interface Target {
  readonly account?: string;
  readonly zone?: string;
  readonly user?: string;
  /** `jurisdiction_name`. */
  readonly bucket?: string;
}

const group = (
  id: string,
  name: string,
  scope: ResourceScope,
  level: Level,
  ...areas: readonly Area[]
): PermissionGroup => ({ id, name, scope, level, areas });

/** Who may use the settings of an account also may use its members and its audit log, as at v4. */
const ACCOUNT_AREAS = ['account', 'accountName', 'members', 'audit'] as const;

/** The permission to change records. */
export const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

export const PERMISSION_GROUPS: readonly PermissionGroup[] = [
  group('c8fed203ed3043cba015a93ad1616f1f', 'Zone Read', 'zone', 'read', 'zone'),
  group('e6d2666161e84845a636613608cee8d5', 'Zone Write', 'zone', 'write', 'zone'),
  group('82e64a83756745bbbb1c9c2701bf816b', 'DNS Read', 'zone', 'read', 'dns'),
  group(DNS_WRITE, 'DNS Write', 'zone', 'write', 'dns'),
  group('517b21aee92c4d89936c976ba6e4be55', 'Zone Settings Read', 'zone', 'read', 'zoneSettings'),
  group('3030687196b94b638145a3953da2b699', 'Zone Settings Write', 'zone', 'write', 'zoneSettings'),
  group('e17beae8b8cb423a99b1730f21238bed', 'Cache Purge', 'zone', 'write', 'cachePurge'),
  group('7b7216b327b04b8fbc8f524e1f9b7531', 'SSL and Certificates Read', 'zone', 'read', 'certificates'),
  group('c03055bc037c4ea9afb9a9f104b7b721', 'SSL and Certificates Write', 'zone', 'write', 'certificates'),
  group('e9a975f628014f1d85b723993116f7d5', 'Load Balancers Read', 'zone', 'read', 'loadBalancers'),
  group('6d7f2f5f5b1d4a0e9081fdc98d432fd1', 'Load Balancers Write', 'zone', 'write', 'loadBalancers'),
  group('d8e12db741544d1586ec1d6f5d3c7786', 'Dynamic URL Redirects Read', 'zone', 'read', 'redirects'),
  group('74e1036f577a48528b78d2413b40538d', 'Dynamic URL Redirects Write', 'zone', 'write', 'redirects'),
  group('211a4c0feb3e43b3a2d41f1443a433e7', 'Zone Transform Rules Read', 'zone', 'read', 'transforms'),
  group('0ac90a90249747bca6b047d97f0803e9', 'Zone Transform Rules Write', 'zone', 'write', 'transforms'),
  group('b415b70a4fd1412886f164451f20405c', 'Page Rules Read', 'zone', 'read', 'pageRules'),
  group('ed07f6c337da4195b4e72a1fb2c6bcae', 'Page Rules Write', 'zone', 'write', 'pageRules'),
  group('c1fde68c7bcc44588cbb6ddbc16d6480', 'Account Settings Read', 'account', 'read', ...ACCOUNT_AREAS),
  group('1af1fa2adc104452b74a9a3364202f20', 'Account Settings Write', 'account', 'write', ...ACCOUNT_AREAS),
  group('eb56a6953c034b9d97dd838155666f06', 'Account API Tokens Read', 'account', 'read', 'accountTokens'),
  group('5bc3f8b21c554832afc660159ab75fa4', 'Account API Tokens Write', 'account', 'write', 'accountTokens'),
  group(
    '9d24387c6e8544e2bc4024a03991339f',
    'Load Balancing: Monitors and Pools Read',
    'account',
    'read',
    'loadBalancing',
  ),
  group(
    'd2a1802cc9a34e30852f8b33869b2f3c',
    'Load Balancing: Monitors and Pools Write',
    'account',
    'write',
    'loadBalancing',
  ),
  group('b4992e1108244f5d8bfbd5744320c2e1', 'Workers R2 Storage Read', 'account', 'read', 'buckets', 'objects'),
  group('bf7481a1826f439697cb59a20b22293e', 'Workers R2 Storage Write', 'account', 'write', 'buckets', 'objects'),
  group('6a018a9f2fc74eb6b293b0c548f38b39', 'Workers R2 Storage Bucket Item Read', 'bucket', 'read', 'objects'),
  group('2efd5506f9c8494dacb1fa10a3e7d5b6', 'Workers R2 Storage Bucket Item Write', 'bucket', 'write', 'objects'),
  group('8acbe5bb0d54464ab867149d7f7cf8ac', 'User Details Read', 'user', 'read', 'user'),
  group('3518d0f75557482e952c6762d3e64903', 'Memberships Read', 'user', 'read', 'memberships'),
  group('0cc3a61731504c89b99ec1be78b77aa0', 'API Tokens Read', 'user', 'read', 'userTokens'),
  group('686d18d5ac6c441c867cbf6771e58a0a', 'API Tokens Write', 'user', 'write', 'userTokens'),
];

const BY_ID = new Map(PERMISSION_GROUPS.map((entry) => [entry.id, entry]));

export function findPermissionGroup(id: string): PermissionGroup | undefined {
  return BY_ID.get(id);
}

const PREFIXES: Readonly<Record<ResourceScope, string>> = {
  zone: 'com.cloudflare.api.account.zone.',
  account: 'com.cloudflare.api.account.',
  user: 'com.cloudflare.api.user.',
  bucket: 'com.cloudflare.edge.r2.bucket.',
};

/** One parsed resource of a policy. `id` may be `*`. */
export interface Resource {
  readonly scope: ResourceScope;
  readonly id: string;
  /** The account that contains it; undefined when none is named. */
  readonly account?: string;
}

/** Parses a resource's name; undefined when it is invalid. */
export function parseResource(text: string): Omit<Resource, 'account'> | undefined {
  for (const scope of ['zone', 'account', 'user', 'bucket'] as const) {
    if (!text.startsWith(PREFIXES[scope])) continue;
    const id = text.slice(PREFIXES[scope].length);
    const shape = scope === 'bucket' ? /^(\*|[0-9a-f]{32}_[a-z-]+_[a-z0-9-]+)$/ : /^(\*|[0-9a-f]{32})$/;
    return shape.test(id) ? { scope, id } : undefined;
  }
  return undefined;
}

/** The resources of a policy, one by one. Invalid ones are omitted, because they match nothing. */
export function resourcesOf(policy: Policy): readonly Resource[] {
  return compiledOf(policy).resources;
}

/** What follows from a policy, found once: it may name a thousand resources, and is asked at every request. */
interface Compiled {
  readonly resources: readonly Resource[];
  /** {@link keyOf} each. */
  readonly keys: ReadonlySet<string>;
  /** {@link zoneAreasOf} it. */
  readonly zoneAreas: number;
}

const compiled = new WeakMap<Policy, Compiled>();

function compiledOf(policy: Policy): Compiled {
  const known = compiled.get(policy);
  if (known) return known;
  const resources = Object.entries(policy.resources).flatMap(([name, value]): Resource[] => {
    const outer = parseResource(name);
    if (!outer) return [];
    if (typeof value === 'string') return [outer];
    return Object.keys(value).flatMap((inside) => {
      const inner = parseResource(inside);
      return inner ? [{ ...inner, account: outer.id }] : [];
    });
  });
  const made = { resources, keys: new Set(resources.map(keyOf)), zoneAreas: zoneAreasOf(policy) };
  compiled.set(policy, made);
  return made;
}

const keyOf = ({ scope, id, account = '' }: Resource): string => `${scope} ${account} ${id}`;

/** The keys of all resources that cover the target, for groups granted for `given`. An account covers everything in it. */
function keysCovering(target: Target, given: ResourceScope): string[] {
  const { account, bucket } = target;
  const outside = account === undefined ? [''] : ['', '*', account];
  const keysOf = (scope: ResourceScope, id: string | undefined): string[] =>
    id === undefined ? [] : outside.flatMap((outer) => [`${scope} ${outer} *`, `${scope} ${outer} ${id}`]);
  const ofAccount = given === 'user' ? [] : keysOf('account', account);
  if (given === 'account') return ofAccount;
  const own = given !== 'bucket' ? target[given] : bucket === undefined ? undefined : `${account}_${bucket}`;
  return [...ofAccount, ...keysOf(given, own)];
}

function covers(policy: Policy, covering: readonly string[]): boolean {
  const { keys } = compiledOf(policy);
  return covering.some((key) => keys.has(key));
}

export type Decision =
  | { readonly allowed: false }
  /** `records`: only records in one of these scopes. */
  | { readonly allowed: true; readonly records?: readonly RecordScope[] };

const DENIED: Decision = { allowed: false };

/** Whether policies allow an action. A deny overrides every allow. */
export function decide(policies: readonly Policy[], area: Area, level: Level, target: Target): Decision {
  const fits = (policy: Policy): boolean => grants(policy, area, level, target);
  if (policies.some((policy) => policy.effect === 'deny' && fits(policy))) return DENIED;
  const allowing = policies.filter((policy) => policy.effect === 'allow' && fits(policy));
  if (allowing.length === 0) return DENIED;
  if (allowing.some(({ records }) => records === undefined)) return { allowed: true };
  return { allowed: true, records: allowing.flatMap(({ records }) => records ?? []) };
}

/** Whether policies allow an action on any resource that they name; denials of single resources do not count. */
export function decideAnywhere(policies: readonly Policy[], area: Area, level: Level): Decision {
  const fits = ({ groups }: Policy): boolean =>
    groups
      .map(findPermissionGroup)
      .some((entry) => entry?.areas.includes(area) && (entry.level === 'write' || level === 'read'));
  return { allowed: policies.some((policy) => policy.effect === 'allow' && fits(policy)) };
}

function grants(policy: Policy, area: Area, level: Level, target: Target): boolean {
  return policy.groups.some((id) => {
    const entry = findPermissionGroup(id);
    if (!entry?.areas.includes(area)) return false;
    return reaches(policy, entry, level) && covers(policy, keysCovering(target, entry.scope));
  });
}

/** Read permission does not allow writing; denied reading also denies writing. */
function reaches({ effect }: Policy, { level: given }: PermissionGroup, level: Level): boolean {
  return effect === 'allow' ? given === 'write' || level === 'read' : denies(given, level);
}

function denies(denied: Level, asked: Level): boolean {
  return denied === 'read' || asked === 'write';
}

/**
 * What a credential for certain zones may do, as policies: everything in them, and nothing beside them. `readOnly`: only what reads.
 */
export function policiesForZones(zoneIds: readonly string[], readOnly: boolean): readonly Policy[] {
  const fits = ({ scope, level }: PermissionGroup): boolean => scope === 'zone' && (level === 'read' || !readOnly);
  const groups = PERMISSION_GROUPS.filter(fits).map(({ id }) => id);
  const resources = Object.fromEntries(zoneIds.map((id) => [`${PREFIXES.zone}${id}`, '*']));
  return [{ id: '', effect: 'allow', groups, resources }];
}

/** The areas of which a zone is the subject. */
export const ZONE_AREAS: readonly Area[] = [
  'zone',
  'dns',
  'zoneSettings',
  'cachePurge',
  'certificates',
  'loadBalancers',
  'redirects',
  'transforms',
  'pageRules',
];

/** Whether policies allow anything on a zone: it then appears in lists, and the zone object itself may be read. */
export function showsZone(policies: readonly Policy[], target: Target): boolean {
  const covering = keysCovering(target, 'zone');
  let allowed = 0;
  let denied = 0;
  for (const policy of policies) {
    if (!covers(policy, covering)) continue;
    if (policy.effect === 'allow') allowed |= compiledOf(policy).zoneAreas;
    else denied |= compiledOf(policy).zoneAreas;
  }
  return (allowed & ~denied) !== 0;
}

/** A bit for each of {@link ZONE_AREAS} that the policy allows or denies; the groups for these are all granted for zones. */
function zoneAreasOf(policy: Policy): number {
  let areas = 0;
  for (const id of policy.groups) {
    const entry = findPermissionGroup(id);
    for (const [bit, area] of ZONE_AREAS.entries()) {
      const level = area === 'cachePurge' ? 'write' : 'read';
      if (entry?.areas.includes(area) && reaches(policy, entry, level)) areas |= 1 << bit;
    }
  }
  return areas;
}

/** Whether a record is in one of the scopes. `name`: lower-case FQDN; `type`: mnemonic. */
export function inRecordScopes(scopes: readonly RecordScope[], name: string, type: string): boolean {
  return scopes.some(
    ({ names, types }) =>
      (types === undefined || types.includes(type)) &&
      (names === undefined || names.some((pattern) => matchesPattern(pattern, name))),
  );
}

/** Whether a name matches a pattern in which `*` stands for any characters. Takes linear time for any pattern. */
function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*');
  const first = parts[0]!;
  if (parts.length === 1) return name === pattern;
  const last = parts.at(-1)!;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= name.length - last.length;
}
