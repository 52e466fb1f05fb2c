/** E-mail addresses as people type them. They name a user, so two ways to write one must not be two users. */

/** No spaces, no control and invisible characters: a header of a message could be made of them. */
const ADDRESS = /^[^\s@\p{C}]{1,64}@[^\s@\p{C}]{1,190}$/u;

/**
 * One form for each address: composed characters (NFC); beyond ASCII also lower case, which the database does not compare. Undefined for
 * what is not an address.
 */
export function plainAddress(text: string): string | undefined {
  const address = text.trim().normalize('NFC');
  if (!ADDRESS.test(address)) return undefined;
  return /^\p{ASCII}*$/u.test(address) ? address : address.toLowerCase().normalize('NFC');
}

/** Whether both are the same address. */
export function isSameAddress(a: string, b: string): boolean {
  const [one, other] = [plainAddress(a), plainAddress(b)];
  return one !== undefined && one.toLowerCase() === other?.toLowerCase();
}
