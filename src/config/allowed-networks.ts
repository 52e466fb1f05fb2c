/** `allow-networks`: what may be connected to beside public addresses, and for what. */
import { z } from 'zod';
import { parseNetwork } from '../base/ip.js';
import { type AllowedNetwork, PURPOSES, type Purpose } from '../egress/egress.js';
import { nearMatch } from './near-match.js';
import { about } from './setting-about.js';
import { isCidr, texts } from './values.js';

export const reachSettings = {
  allowNetworks: z
    .union([z.string(), z.array(z.string())], { error: 'expected networks, separated by commas' })
    .transform((value, context) => {
      const read = readNetworks(typeof value === 'string' ? value : value.join(','));
      for (const message of read.faults) context.addIssue({ code: 'custom', message });
      return read.entries;
    })
    .prefault('')
    .register(about, {
      group: 'Outside world',
      value: 'networks',
      mayBeEmpty: true,
      summary: `Networks that may be connected to beside public addresses, as \`10.0.0.0/8:origins,transfers\`, separated by commas; for ${PURPOSES.map((name) => `\`${name}\``).join(', ')}, or all of these without a purpose`,
    }),
  edgeAllowOriginCidrs: texts('networks', isCidr, { atLeast: 0 }).prefault('').register(about, {
    group: 'Edge',
    value: 'networks',
    mayBeEmpty: true,
    summary: 'Replaced by `allow-networks`; stands for its purposes `origins` and `http-checks`',
  }),
};

/** What the settings allow. */
export function allowedNetworks(settings: {
  readonly allowNetworks: readonly string[];
  readonly edgeAllowOriginCidrs: readonly string[];
}): AllowedNetwork[] {
  const older = settings.edgeAllowOriginCidrs.map((text): AllowedNetwork => {
    return { network: parseNetwork(text)!, purposes: OLDER };
  });
  return [...settings.allowNetworks.map((text) => splitEntry(text)!), ...older];
}

const OLDER: readonly Purpose[] = ['origins', 'http-checks'];

/** Says what to write instead of an older setting that is used. */
export function replacedSettings({
  edgeAllowOriginCidrs: cidrs,
}: {
  readonly edgeAllowOriginCidrs: readonly string[];
}) {
  if (cidrs.length === 0) return [];
  const value = cidrs.map((text) => `${text}:${OLDER.join(',')}`).join(',');
  return [`edge-allow-origin-cidrs is replaced by allow-networks. Write \`--allow-networks ${value}\` instead.`];
}

interface Read {
  /** Each with its purposes: `10.0.0.0/8:origins,transfers`. */
  readonly entries: readonly string[];
  readonly faults: readonly string[];
}

/** A word after a comma is a further purpose of the network before it, unless it is a network itself. */
function readNetworks(text: string): Read {
  const words = text.split(',').map((word) => word.trim());
  const entries: string[] = [];
  const faults: string[] = [];
  for (const word of words.length === 1 && words[0] === '' ? [] : words) {
    const { network, purpose } = readWord(word);
    const fault = network === undefined ? faultOf(word, purpose, entries.at(-1)) : purposeFault(purpose);
    if (fault !== undefined) faults.push(fault);
    if (network !== undefined) entries.push(word);
    else if (fault === undefined) entries.push(`${entries.pop()!},${word}`);
  }
  return { entries, faults };
}

/** `network` is undefined for a word that begins with none; `purpose`: what follows the colon after the network. */
function readWord(word: string): { readonly network: string | undefined; readonly purpose: string | undefined } {
  // IPv6 addresses contain colons.
  if (parseNetwork(word)) return { network: word, purpose: undefined };
  const colon = word.lastIndexOf(':');
  const network = word.slice(0, Math.max(0, colon)).trim();
  return parseNetwork(network)
    ? { network, purpose: word.slice(colon + 1).trim() }
    : { network: undefined, purpose: word };
}

function faultOf(word: string, purpose: string | undefined, before: string | undefined): string | undefined {
  if (!isPurpose(word) && /[.:/]/.test(word)) return `expected a network such as 10.0.0.0/8, found '${word}'`;
  if (before === undefined) return `expected a network before '${word}', such as 10.0.0.0/8:origins`;
  if (splitEntry(before)!.isForAll) return `expected ':' between ${before} and '${word}', as in ${before}:${word}`;
  return purposeFault(purpose);
}

function purposeFault(purpose: string | undefined): string | undefined {
  if (purpose === undefined || isPurpose(purpose)) return undefined;
  if (purpose === '') return `expected a purpose after ':': ${PURPOSES.join(', ')}`;
  const near = nearMatch(purpose, PURPOSES);
  const hint = near === undefined ? `the purposes are ${PURPOSES.join(', ')}` : `did you mean '${near}'?`;
  return `'${purpose}' is not a purpose; ${hint}`;
}

function isPurpose(word: string): word is Purpose {
  return PURPOSES.some((name) => name === word);
}

/** The parts of a valid entry. */
function splitEntry(entry: string): (AllowedNetwork & { readonly isForAll: boolean }) | undefined {
  const [first = '', ...others] = entry.split(',');
  const { network, purpose } = readWord(first);
  const parsed = network === undefined ? undefined : parseNetwork(network);
  if (!parsed) return undefined;
  const named = [...(purpose === undefined ? [] : [purpose]), ...others].filter(isPurpose);
  return { network: parsed, purposes: named.length > 0 ? named : PURPOSES, isForAll: purpose === undefined };
}
