/** Recovery codes: ten, shown once, each of which stands once for a second factor that is lost. */
import { hashSecret } from '../control/access/keys.js';
import type { ContextBase } from '../control/kernel/context.js';
import { insertRecoveryCode, removeRecoveryCode, removeRecoveryCodes } from '../store/access/factors.js';
import type { UserRow } from '../store/access/users.js';
import type { Store } from '../store/driver.js';
import { signInFailure } from './failures.js';
import type { UseCode } from './totp.js';

const CODES = 10;
/** Five bits each: 50 bits in all. */
const CODE_LENGTH = 10;
/** Without letters that look like others. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

export function makeRecoveryCodes({ random }: ContextBase): string[] {
  return Array.from({ length: CODES }, () => {
    const text = Array.from(random.bytes(CODE_LENGTH), (octet) => ALPHABET[octet & 31]).join('');
    return `${text.slice(0, 5)}-${text.slice(5)}`;
  });
}

/** Instead of those that were there; inside a write. */
export function replaceRecoveryCodes(store: Store, { seq }: UserRow, codes: readonly string[]): void {
  removeRecoveryCodes(store, seq);
  for (const code of codes) insertRecoveryCode(store, seq, hashOf(store, code));
}

/** Uses up a code. Throws 403 for one that the user does not have, or no longer. */
export function checkRecoveryCode(store: Store, { seq, id, email }: UserRow, code: string): UseCode {
  return (draft) => {
    if (!removeRecoveryCode(store, seq, hashOf(store, code))) throw signInFailure('wrongCode');
    draft.event({ kind: 'recovery_code.use', id, name: email });
  };
}

/** However it is typed. */
function hashOf(store: Store, code: string): Uint8Array {
  const plain = code
    .toLowerCase()
    .replaceAll('o', '0')
    .replace(/[il]/g, '1')
    .replace(/[^0-9a-z]/g, '');
  return hashSecret(store, `recovery ${plain}`);
}
