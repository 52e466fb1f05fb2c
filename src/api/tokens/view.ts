/** Tokens and permission groups as v4 clients read them (v4: §12). */
import type { z } from 'zod';
import type { KeyItem } from '../../control/access/item.js';
import { policiesOf } from '../../control/access/tokens.js';
import {
  findPermissionGroup,
  type PermissionGroup,
  type Policy,
  type Resources,
} from '../../control/guard/permissions.js';
import { printTime } from '../times.js';
import type { permissionGroup, Token } from './schema.js';

const SCOPES: Readonly<Record<PermissionGroup['scope'], string>> = {
  zone: 'com.cloudflare.api.account.zone',
  account: 'com.cloudflare.api.account',
  user: 'com.cloudflare.api.user',
  bucket: 'com.cloudflare.edge.r2.bucket',
};

export function permissionGroupView({ id, name, scope }: PermissionGroup): z.output<typeof permissionGroup> {
  return { id, name, scopes: [SCOPES[scope]] };
}

/** `userId`: of the user who made it. */
export function tokenView(item: KeyItem, userId: string): Token {
  const { networks } = item;
  const instant = <Name extends string>(name: Name, at: number | null): Partial<Record<Name, string>> =>
    at === null ? {} : ({ [name]: printTime(at) } as Record<Name, string>);
  return {
    id: item.id,
    name: item.name,
    status: item.status,
    issued_on: printTime(item.createdAt),
    modified_on: printTime(item.modifiedAt),
    ...instant('last_used_on', item.lastUsedAt),
    ...instant('not_before', item.notBefore),
    ...instant('expires_on', item.expiresAt),
    policies: policiesOf(item, userId).map(policyView),
    ...(networks && {
      condition: {
        [networks.spelling ?? 'request_ip']: {
          ...(networks.in.length > 0 && { in: [...networks.in] }),
          ...(networks.notIn.length > 0 && { not_in: [...networks.notIn] }),
        },
      },
    }),
  };
}

export function policyView({ id, effect, groups, resources, records }: Policy): Token['policies'][number] {
  return {
    id,
    effect,
    permission_groups: groups.flatMap((groupId) => {
      const known = findPermissionGroup(groupId);
      return known ? [{ id: known.id, name: known.name }] : [];
    }),
    resources: resources as Record<string, Exclude<Resources[string], object>>,
    ...(records && { records }),
  };
}
