/** The condition of a token: the networks from which it may be used (v4: §12). */
import { parseCidrSet, parseIP, parseNetwork, storedCidrSet } from '../../base/ip.js';
import { badBody } from '../kernel/errors.js';

/** Networks as CIDR texts: the address must be in one of `in`, if there are any, and in none of `notIn`. */
export interface Networks {
  readonly in: readonly string[];
  readonly notIn: readonly string[];
  /** The member name that the client used, so that it gets its own spelling back; default `request_ip`. */
  readonly spelling?: Spelling;
}

/** Older v4 clients use the spelling with a dot. */
const SPELLINGS = ['request_ip', 'request.ip'] as const;
type Spelling = (typeof SPELLINGS)[number];

const MOST_NETWORKS = 100;

interface NetworksInput {
  readonly in?: readonly string[] | null | undefined;
  readonly not_in?: readonly string[] | null | undefined;
}

/** `condition` of a token as a client sends it: one of the two; null and empty lists say nothing. */
export type ConditionInput = { readonly [Name in Spelling]?: NetworksInput | null | undefined };

/** Null when a token may be used from anywhere. Throws 400/9207 for what is not a network. */
export function readNetworks(condition: ConditionInput | null | undefined): Networks | null {
  const [spelling, another] = SPELLINGS.filter((name) => condition?.[name]);
  if (spelling === undefined) return null;
  if (another !== undefined)
    throw badBody(`${spelling} and ${another} mean the same: use only one`, `/condition/${another}`);
  const at = `/condition/${spelling}`;
  const { in: inside, not_in: outside } = condition![spelling]!;
  const networks = { in: readList(inside ?? [], `${at}/in`), notIn: readList(outside ?? [], `${at}/not_in`) };
  if (networks.in.length + networks.notIn.length === 0) return null;
  return spelling === 'request_ip' ? networks : { ...networks, spelling };
}

function readList(texts: readonly string[], at: string): readonly string[] {
  if (texts.length === 0) return texts;
  requireFew(texts, MOST_NETWORKS, at);
  try {
    parseCidrSet(texts);
  } catch (error) {
    if (error instanceof RangeError) throw badBody(error.message, at);
    throw error;
  }
  return texts;
}

/** Throws 400/9207 for an empty list and for one of more than `most` texts. */
export function requireFew(texts: readonly string[], most: number, at: string): void {
  if (texts.length === 0 || texts.length > most) throw badBody(`expected a list of 1 to ${most} texts`, at);
}

/**
 * Whether an address is in the networks from which a credential may be used. A stored text that is not a network today allows
 * nothing, and forbids everything.
 */
export function isWithin(networks: Networks, address: string): boolean {
  const octets = parseIP(address);
  if (!octets || !networks.notIn.every((text) => parseNetwork(text))) return false;
  const inside = networks.in.length === 0 || storedCidrSet(networks.in).contains(octets);
  return inside && !storedCidrSet(networks.notIn).contains(octets);
}
