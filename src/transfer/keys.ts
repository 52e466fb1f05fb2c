/** Finds the keys of accounts and checks signed messages with them (RFC 8945 §5.2). */
import type { Clock } from '../base/clock.js';
import { isOfKey, parseTsigAlgorithm, TsigError, type TsigKey, type TsigRecord, verifyMessage } from '../dns/tsig.js';
import type { Store } from '../store/driver.js';
import { TSIG_SECRETS } from '../store/sealed-columns.js';
import { findTsigKeyByName, type TsigKeyRow } from '../store/secondary/tsig-keys.js';
import type { Vault } from '../vault/vault.js';

/** A key of an account. */
export interface AccountKey extends TsigKey {
  /** Store number. */
  readonly seq: number;
}

/** The opened key of a row. Throws a VaultError. */
export function openKey(vault: Vault, { seq, id, key_name: name, algorithm: text, secret }: TsigKeyRow): AccountKey {
  const algorithm = parseTsigAlgorithm(text)!;
  return { seq, name, algorithm, secret: vault.open(TSIG_SECRETS, id, secret) };
}

/** The result for a signed message: its key, or what is wrong. */
export type Checked =
  | { readonly key: AccountKey; readonly error: typeof TsigError.none }
  /** The key is right but the message is not; the answer is signed for BADTIME and BADTRUNC. */
  | { readonly key: AccountKey; readonly error: number | 'malformed' }
  | { readonly key: undefined; readonly error: typeof TsigError.badKey };

export interface KeyChecker {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
}

/** Checks a request with the keys of the account that owns its zone. Throws a VaultError. */
export function checkRequest(checker: KeyChecker, account: number, request: Uint8Array, tsig: TsigRecord): Checked {
  return checkWith(checker, findTsigKeyByName(checker.store, account, tsig.keyName), request, tsig);
}

/** The same with the key of this row. */
export function checkWith(
  { vault, clock }: KeyChecker,
  row: TsigKeyRow | undefined,
  request: Uint8Array,
  tsig: TsigRecord,
): Checked {
  const key = row && openKey(vault, row);
  if (!key || !isOfKey(tsig, key)) return { key: undefined, error: TsigError.badKey };
  return { key, error: verifyMessage(request, tsig, key, nowSeconds(clock)) };
}

export function nowSeconds(clock: Clock): number {
  return Math.floor(clock.nowMs() / 1000);
}
