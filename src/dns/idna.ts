/**
 * Internationalised names: conversion between Unicode labels and punycode (UTS #46, non-transitional).
 *
 * Only labels with non-ASCII characters go through the platform's converter, one at a time and never as the last label.
 * The converter is a URL host parser: it would read `127.1` as an address, cut `a/b` and decode `%62` (WHATWG URL
 * §3.5).
 */
import * as url from 'node:url';
import { MAX_LABEL_LENGTH } from './name.js';

/** The dots of UTS #46 §2.3: full stop, ideographic, fullwidth and halfwidth. */
const DOTS = /[.\u3002\uff0e\uff61]/u;
const ASCII = /^[\0-\x7f]*$/;
/** ASCII characters that a label may mix with others; all other ASCII characters have a meaning in URLs. */
const MIXABLE = /^[A-Za-z0-9_\-\u0080-\u{10ffff}]+$/u;
const SHIELD = '.invalid';

/** ASCII form of one label, in lower case if it had to be converted; undefined when UTS #46 does not allow it. */
export function labelToAscii(label: string): string | undefined {
  if (ASCII.test(label)) return label;
  if (!MIXABLE.test(label)) return undefined;
  const converted = url.domainToASCII(label + SHIELD);
  const ascii = converted.slice(0, -SHIELD.length);
  const fits = ascii.length > 0 && ascii.length <= MAX_LABEL_LENGTH && !ascii.includes('.');
  return converted.endsWith(SHIELD) && fits ? ascii : undefined;
}

/** ASCII form of a name; ASCII labels keep their case. Undefined when a label cannot be converted. */
export function domainToAscii(text: string): string | undefined {
  if (ASCII.test(text)) return text;
  const labels = text.split(DOTS).map(labelToAscii);
  return labels.includes(undefined) ? undefined : labels.join('.');
}

/** A name for people. Punycode labels become Unicode if converting back gives the same label; all others stay. */
export function domainToUnicode(text: string): string {
  if (!/xn--/i.test(text)) return text;
  return text.split('.').map(labelToUnicode).join('.');
}

function labelToUnicode(label: string): string {
  if (!/^xn--[a-z0-9-]+$/i.test(label)) return label;
  const unicode = url.domainToUnicode(label + SHIELD).slice(0, -SHIELD.length);
  return unicode !== '' && labelToAscii(unicode) === label.toLowerCase() ? unicode : label;
}
