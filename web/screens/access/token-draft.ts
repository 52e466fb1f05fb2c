/** A token before it is made, and the policies that follow from what was chosen. */
import type { PermissionGroup } from '../../types.js';

export interface Draft {
  readonly name: string;
  /** Identifiers. */
  readonly groups: readonly string[];
  /** An identifier, or `*`; undefined: what was typed is not a zone. */
  readonly zone: string | undefined;
  readonly types: string;
  readonly names: string;
  readonly networks: string;
  /** The last day, as the browser counts days; empty: never. */
  readonly expires: string;
}

export const EMPTY: Draft = { name: '', groups: [], zone: '*', types: '', names: '', networks: '', expires: '' };

/** Permission groups in words. */
export const WORDS: Readonly<Record<string, string>> = {
  'Zone Read': 'See zones',
  'Zone Write': 'Create, change and delete zones',
  'DNS Read': 'See records and DNSSEC',
  'DNS Write': 'Change records and DNSSEC',
  'Zone Settings Read': 'See settings of zones',
  'Zone Settings Write': 'Change settings of zones',
  'Cache Purge': 'Purge the cache of the edge',
  'SSL and Certificates Read': 'See certificates and custom hostnames',
  'SSL and Certificates Write': 'Change certificates and custom hostnames',
  'Account Settings Read': 'See the account and its audit log',
  'Account Settings Write': 'Change the account, its peers and keys of transfers',
  'Account API Tokens Read': 'See tokens of the account',
  'Account API Tokens Write': 'Make and delete tokens of the account',
  'Workers R2 Storage Read': 'See buckets and read objects',
  'Workers R2 Storage Write': 'Change buckets and objects',
  'Workers R2 Storage Bucket Item Read': 'Read objects of a bucket',
  'Workers R2 Storage Bucket Item Write': 'Write objects of a bucket',
  'User Details Read': 'See who you are',
  'Memberships Read': 'See your memberships',
  'API Tokens Read': 'See your tokens',
  'API Tokens Write': 'Make and delete your tokens',
};

/** What tokens are usually for. */
export interface Template {
  readonly name: string;
  readonly about: string;
  /** Names of permission groups; undefined: those that only read. */
  readonly groups: readonly string[] | undefined;
  readonly draft: Partial<Draft>;
}

export const TEMPLATES: readonly Template[] = [
  {
    name: 'DNS of one zone',
    about:
      'For a program that changes records, such as external-dns, octoDNS or a router with dynamic DNS. Choose the zone below: without one, it is for all of them.',
    groups: ['Zone Read', 'DNS Write'],
    draft: { types: '', names: '' },
  },
  {
    name: 'Certificates',
    about:
      'For an ACME client, such as certbot, lego or cert-manager: it may change the records of its challenges, and nothing else.',
    groups: ['Zone Read', 'DNS Write'],
    draft: { types: 'TXT', names: '_acme-challenge.*' },
  },
  {
    name: 'Read-only',
    about: 'For a program that looks: it may see everything that you see, and change nothing.',
    groups: undefined,
    draft: { types: '', names: '' },
  },
];

/** What is chosen with a template. */
export function draftOf({ groups, draft }: Template, known: readonly PermissionGroup[]): Partial<Draft> {
  const isChosen = ({ name }: PermissionGroup): boolean => groups?.includes(name) ?? name.endsWith(' Read');
  return { ...draft, groups: known.filter(isChosen).map(({ id }) => id) };
}

const SCOPES = {
  zone: 'com.cloudflare.api.account.zone',
  account: 'com.cloudflare.api.account',
  user: 'com.cloudflare.api.user',
  bucket: 'com.cloudflare.edge.r2.bucket',
} as const;

type Scope = keyof typeof SCOPES;

function scopeOf({ scopes }: PermissionGroup): Scope {
  return (Object.keys(SCOPES) as Scope[]).find((scope) => scopes.includes(SCOPES[scope])) ?? 'account';
}

const listOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** The end of a day where the browser is. Empty without a day, also when the browser took one that does not exist. */
export function endOf(day: string): string | undefined {
  const end = new Date(`${day}T23:59:59`);
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString().replace('.000Z', 'Z');
}

/** One policy for each kind of resource. The limits to records are about records only. */
export function policiesOf(draft: Draft, groups: readonly PermissionGroup[], user: string): object[] {
  const chosen = groups.filter(({ id }) => draft.groups.includes(id));
  const types = listOf(draft.types.toUpperCase());
  const names = listOf(draft.names.toLowerCase());
  const limits = types.length + names.length > 0;
  const isLimited = (group: PermissionGroup): boolean => limits && group.name.startsWith('DNS ');
  const kinds = Map.groupBy(chosen, (group) => `${scopeOf(group)}${isLimited(group) ? ' limited' : ''}`);
  return [...kinds].map(([kind, members]) => {
    const scope = kind.split(' ')[0] as Scope;
    const id = scope === 'zone' ? (draft.zone ?? '') : scope === 'user' ? user : '*';
    const records = { ...(types.length > 0 && { types }), ...(names.length > 0 && { names }) };
    return {
      effect: 'allow',
      permission_groups: members.map((group) => ({ id: group.id, name: group.name })),
      resources: { [`${SCOPES[scope]}.${id}`]: '*' },
      ...(kind.endsWith('limited') && { records }),
    };
  });
}
