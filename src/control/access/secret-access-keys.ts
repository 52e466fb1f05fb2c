/**
 * Secrets with which S3 clients sign. That of a token is the SHA-256 of its value in hexadecimal, so whoever has the value can
 * compute it. To check a signature the secret itself is needed, so it is kept sealed beside the hash of the value.
 */
import { createHash } from 'node:crypto';
import type { Store } from '../../store/driver.js';
import { SECRET_ACCESS_KEYS } from '../../store/sealed-columns.js';
import { findCheck } from '../../vault/check.js';
import type { Vault } from '../../vault/vault.js';
import { decideAnywhere, type Policy } from '../guard/permissions.js';
import type { SecretAccessKeys } from '../kernel/secret-access-keys.js';

/** The secret of an S3 client whose access key is the token with this value. */
export function secretAccessKeyOf(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

/** `vaultOf` is called when a secret is sealed or opened for the first time. */
export function createSecretAccessKeys(store: Store, vaultOf: () => Vault): SecretAccessKeys {
  let vault: Vault | undefined;
  const opened = (): Vault => (vault ??= vaultOf());
  return {
    seal(id, value) {
      if (findCheck(store) === undefined) return null;
      return opened().seal(SECRET_ACCESS_KEYS, id, Buffer.from(secretAccessKeyOf(value)));
    },
    open: (id, sealed) => Buffer.from(opened().open(SECRET_ACCESS_KEYS, id, sealed)).toString(),
  };
}

/** What a token is restricted to; null or undefined: nothing. */
export interface TokenLimits {
  readonly policies: readonly Policy[] | null;
  readonly zoneIds: readonly string[] | null | undefined;
}

/** Whether a token with these restrictions has anything to do with buckets. */
export function reachesBuckets({ policies, zoneIds }: TokenLimits): boolean {
  if (policies) return (['buckets', 'objects'] as const).some((area) => decideAnywhere(policies, area, 'read').allowed);
  return !zoneIds;
}
