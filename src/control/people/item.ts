/** Members and groups as plain values, as use cases return them. Times are microseconds since 1970. */
import type { StoredPolicy } from '../../store/access/members.js';
import type { AccountItem } from '../access/item.js';

export interface ResourceGroupItem {
  readonly id: string;
  readonly name: string;
  readonly accountId: string;
  /** Identifiers; undefined: everything in the account. */
  readonly zones: readonly string[] | undefined;
}

export interface PolicyItem {
  readonly id: string;
  readonly access: 'allow' | 'deny';
  /** Identifiers of roles. */
  readonly permissionGroups: readonly string[];
  readonly resourceGroups: readonly ResourceGroupItem[];
}

export interface MemberItem {
  readonly id: string;
  readonly email: string;
  readonly status: 'pending' | 'accepted';
  /** Identifiers. */
  readonly roles: readonly string[];
  readonly policies: readonly PolicyItem[];
  /** Null while the invitation is open: nobody learns by inviting who somebody is. */
  readonly user: { readonly id: string; readonly firstName: string | null; readonly lastName: string | null } | null;
  /** Undefined for who may not know. */
  readonly twoFactor: boolean | undefined;
  readonly lastUsedAt: number | null;
  readonly createdAt: number;
  readonly invite: { readonly id: string; readonly expiresAt: number; readonly isOver: boolean } | null;
}

export interface MembershipItem {
  readonly id: string;
  readonly account: AccountItem;
  readonly status: 'pending' | 'accepted';
  /** Identifiers. */
  readonly roles: readonly string[];
  /** Undefined: only roles. */
  readonly policies: readonly PolicyItem[] | undefined;
  readonly zones: { readonly read: boolean; readonly write: boolean };
  readonly records: { readonly read: boolean; readonly write: boolean };
}

export interface InvitationItem {
  readonly id: string;
  readonly memberId: string;
  readonly email: string;
  readonly account: AccountItem;
  /** Names. */
  readonly roles: readonly string[];
  readonly invitedBy: string;
  readonly invitedAt: number;
  readonly expiresAt: number;
  readonly status: 'pending' | 'accepted' | 'rejected' | 'expired';
}

export interface UserGroupItem {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly policies: readonly PolicyItem[];
}

export interface GroupMemberItem {
  readonly id: string;
  readonly email: string;
  readonly status: 'pending' | 'accepted';
  readonly since: number;
}

/** A policy as a client sends it. */
export interface PolicyInput {
  readonly access: 'allow' | 'deny';
  readonly permission_groups: readonly { readonly id: string }[];
  readonly resource_groups: readonly { readonly id: string }[];
}

/** What a member may do: policies count where there are any. */
export interface Assignment {
  readonly roles: readonly string[];
  readonly policies: readonly StoredPolicy[] | null;
}
