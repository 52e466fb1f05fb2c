/**
 * Accounts, users and credentials as plain values, as use cases return them. Identifiers are 32 lower-case hexadecimal
 * digits, times are microseconds since 1970.
 */
import type { KeyKind } from '../../store/access/keys.js';
import type { Policy } from '../guard/permissions.js';
import type { Networks } from './networks.js';

export interface AccountItem {
  readonly id: string;
  readonly name: string;
  readonly type: 'standard' | 'enterprise';
  readonly createdAt: number;
  /** Whether its members must have a second factor. */
  readonly enforcesTwoFactor: boolean;
}

export interface UserItem {
  readonly id: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly country: string | null;
  readonly telephone: string | null;
  readonly zipcode: string | null;
  readonly superAdministrator: boolean;
  readonly suspended: boolean;
  readonly hasSecondFactor: boolean;
  readonly createdAt: number;
  readonly modifiedAt: number;
}

export interface KeyItem {
  readonly id: string;
  readonly kind: KeyKind;
  readonly name: string;
  readonly userEmail: string;
  readonly accountId: string | null;
  readonly zoneIds: readonly string[] | null;
  readonly readOnly: boolean;
  /** Its permissions; null for all permissions of its user within the restrictions above. */
  readonly policies: readonly Policy[] | null;
  /** Where it may be used; null for anywhere. */
  readonly networks: Networks | null;
  /** Whether it belongs to its account, not to the user who created it. */
  readonly accountOwned: boolean;
  readonly status: 'active' | 'expired' | 'disabled';
  readonly createdAt: number;
  readonly modifiedAt: number;
  readonly notBefore: number | null;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

export interface SessionItem {
  readonly id: string;
  /** The credential with which it works; undefined: the person signed in as themself. */
  readonly key: { readonly id: string; readonly name: string; readonly kind: KeyKind } | undefined;
  /** What was proved when it began: `credential`, `link`, `password`, `totp`, `recovery`, `passkey`, `oidc`. */
  readonly how: readonly string[];
  /** When the person last proved who they are. */
  readonly provedAt: number;
  readonly userEmail: string;
  /** Source address of the sign-in. */
  readonly address: string;
  /** What the browser says that it is. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastUsedAt: number;
  /** When it ends at the latest: earlier when it is not used, and with its credential. */
  readonly expiresAt: number;
}
