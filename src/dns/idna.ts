/**
 * Internationalised names: Unicode labels to punycode and back (UTS #46, non-transitional).
 *
 * Only labels with characters outside ASCII go through the platform's converter, one at a time and never as the last
 * label: it is a URL host parser, which would read `127.1` as an address, cut `a/b` and undo `%62` (WHATWG URL §3.5).
 */
import * as url from 'node:url';
import { MAX_LABEL_LENGTH } from './name.js';

/** The dots of UTS #46 §2.3: full stop, ideographic, fullwidth and halfwidth. */
const DOTS = /[.\u3002\uff0e\uff61]/u;
const ASCII = /^[\0-\x7f]*$/;
/** What a label may mix with characters outside ASCII; all else has a meaning in URLs. */
const MIXABLE = /^[A-Za-z0-9_\-\u0080-\u{10ffff}]+$/u;
const SHIELD = '.invalid';

/** ASCII form of one label, lower case if it had to be converted; undefined when UTS #46 does not allow it. */
export function labelToAscii(label: string): string | undefined {
  if (ASCII.test(label)) return label;
  if (!MIXABLE.test(label)) return undefined;
  const converted = url.domainToASCII(label + SHIELD);
  const ascii = converted.slice(0, -SHIELD.length);
  const fits = ascii.length > 0 && ascii.length <= MAX_LABEL_LENGTH && !ascii.includes('.');
  return converted.endsWith(SHIELD) && fits ? ascii : undefined;
}

/** ASCII form of a name; labels in ASCII stay as they are, in their case. Undefined when a label is not convertible. */
export function domainToAscii(text: string): string | undefined {
  if (ASCII.test(text)) return text;
  const labels = text.split(DOTS).map(labelToAscii);
  return labels.includes(undefined) ? undefined : labels.join('.');
}

/** A name for people: punycode labels that convert back to themselves become Unicode, all others stay. */
export function domainToUnicode(text: string): string {
  if (!/xn--/i.test(text)) return text;
  return text.split('.').map(labelToUnicode).join('.');
}

function labelToUnicode(label: string): string {
  if (!/^xn--[a-z0-9-]+$/i.test(label)) return label;
  const unicode = url.domainToUnicode(label + SHIELD).slice(0, -SHIELD.length);
  return unicode !== '' && labelToAscii(unicode) === label.toLowerCase() ? unicode : label;
}
