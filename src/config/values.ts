/** Kinds of values that several settings share, with their error messages. */
import { z } from 'zod';
import { parseIP, parseNetwork } from '../base/ip.js';

/** Whole numbers in a range, also as decimal text; the message names the range. */
export function wholeNumber(least: number, most: number, what: string) {
  const message = `expected ${what} from ${least} to ${most}`;
  return z
    .union([z.number(), z.string().regex(/^\d{1,16}$/, { error: message })], { error: message })
    .transform(Number)
    .refine((value) => Number.isInteger(value) && value >= least && value <= most, { error: message });
}

export const port = () => wholeNumber(1, 65535, 'a port');

export const text = () => z.string({ error: 'expected a text' }).min(1, { error: 'must not be empty' });

/** Texts separated by commas, or a list of texts in a file. `hidden`: messages do not repeat them. */
export function texts(
  what: string,
  accept: (entry: string) => boolean,
  { atLeast, hidden = false }: { readonly atLeast: number; readonly hidden?: boolean },
) {
  const quote = (entry: string): string => (hidden ? 'another text' : `'${entry}'`);
  return z
    .union([z.string(), z.array(z.string())], { error: `expected ${what}, separated by commas` })
    .transform((value) => (typeof value === 'string' ? value.split(',') : value).map((entry) => entry.trim()))
    .transform((entries) => (entries.length === 1 && entries[0] === '' ? [] : entries))
    .superRefine((entries, context) => {
      const complain = (message: string): void => context.addIssue({ code: 'custom', message });
      for (const entry of entries) if (!accept(entry)) complain(`expected ${what}, found ${quote(entry)}`);
      if (entries.length < atLeast) complain(`expected ${what}`);
      const repeated = entries.find((entry, index) => entries.indexOf(entry) !== index);
      if (repeated !== undefined) complain(`${quote(repeated)} is listed twice`);
    });
}

export const isAddress = (entry: string): boolean => parseIP(entry) !== undefined;

/** As Linux has them: no slash, no blank, no way out of a directory. */
export const isInterfaceName = (entry: string): boolean => /^(?!\.{1,2}$)[^\s/:]{1,15}$/.test(entry);

export const isCidr = (entry: string): boolean => parseNetwork(entry) !== undefined;
