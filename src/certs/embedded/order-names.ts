/** The names for which the built-in authority accepts orders. */
import { baseName } from '../authority-choice.js';
import { refusal } from './refusal.js';

/** The limit of public authorities. */
const MAX_NAMES = 100;
const MAX_NAME_OCTETS = 253;
/** RFC 5890 §2.3.1: no underscore, no hyphen at either end. */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const NUMBER = /^[0-9]+$/;

/** Removes repeated names. Throws an AuthorityError `malformed` or `rejectedIdentifier`. */
export function checkOrderNames(names: readonly string[]): readonly string[] {
  const once = [...new Set(names)];
  if (once.length === 0) throw refusal('malformed', 400, 'An order needs at least one name.');
  if (once.length > MAX_NAMES) throw refusal('malformed', 400, `An order has no more than ${MAX_NAMES} names.`);
  const wrong = once.filter((name) => !isHostName(baseName(name)));
  if (wrong.length === 0) return once;
  const shown = wrong.map((identifier) => ({
    type: 'rejectedIdentifier',
    detail: `'${identifier.slice(0, 256)}' is not a host name in A-labels and lower case.`,
    identifier,
  }));
  throw refusal('rejectedIdentifier', 400, shown[0]!.detail, shown);
}

/** A last label of digits only would make it an address (RFC 1123 §2.1). */
function isHostName(name: string): boolean {
  const labels = name.split('.');
  return name.length <= MAX_NAME_OCTETS && labels.every((label) => LABEL.test(label)) && !NUMBER.test(labels.at(-1)!);
}
