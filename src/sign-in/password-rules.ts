/** Which passwords may be chosen (NIST SP 800-63B §5.1.1.2): long ones that are not common; no rules about kinds of characters. */
import { COMMON_PASSWORDS } from './common-passwords.js';
import { signInFailure } from './failures.js';

const SHORTEST = 8;
/** In characters. */
const LONGEST = 256;

let common: Set<string> | undefined;

/** One form of a password that keyboards write in several. */
export function readPassword(text: string): string {
  return text.normalize('NFC');
}

/** The password in the form that is hashed. Throws 400 for one that may not be chosen. */
export function choosePassword(text: string, email: string): string {
  const password = readPassword(text);
  const reason = refusalOf(password, email);
  if (reason !== undefined) throw signInFailure('badPassword', { reason }, { pointer: '/new' });
  return password;
}

function refusalOf(password: string, email: string): string | undefined {
  const { length } = [...password];
  if (length < SHORTEST || length > LONGEST) return `A password has ${SHORTEST} to ${LONGEST} characters.`;
  const plain = password.toLowerCase();
  if (plain === email.toLowerCase()) return 'The password must not be the e-mail address.';
  common ??= new Set(COMMON_PASSWORDS.flatMap((line) => line.split(' ')));
  return common.has(plain) ? 'This password is among the most common ones. Please choose another one.' : undefined;
}
